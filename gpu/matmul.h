#pragma once

#include <memory>
#include <vector>

#include "common/backend.h"
#include "gpu/kernels.h"
#include "gpu/matmul_problem.h"

namespace trainbench::gpu {

/// Matrix products through cuBLASLt, with as much of the epilogue fused as the library takes; our
/// own kernels do the rest. A problem's algorithm is chosen when it is first met and kept, so that
/// later calls allocate nothing and give equal bits.
class Matmul {
 public:
  Matmul();
  ~Matmul();
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  /// The library's workspace is the queue's scratch memory.
  void run(const Queue& queue, const MatmulForm& form, ConstTensor a, ConstTensor b, Tensor c,
           const MatmulEpilogue& epilogue);

  /// A batch of products, in one call where its matrices have one distance, else in as few as the
  /// smaller of its two extents.
  void run_batched(const Queue& queue, const MatmulForm& form, const MatmulBatch& batch,
                   const ConstMatrices& a, const ConstMatrices& b, const Matrices& c);

  /// Finds out whether the library's ReLU mask of this dtype reads like ours: only then is ReLU
  /// fused where its mask is kept. Allocates and waits: belongs to set-up.
  void probe_relu_mask(const Queue& queue, DType dtype);

  /// One entry a problem met so far.
  const std::vector<Served>& served() const;

 private:
  struct State;
  void run(const Queue& queue, const MatmulProblem& problem, const MatmulCall& call);

  std::unique_ptr<State> state_;
};

}  // namespace trainbench::gpu
