#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/backend.h"
#include "gpu/kernels.h"
#include "gpu/matmul_problem.h"
#include "gpu/own_matmul.h"

namespace trainbench::gpu {

enum class MatmulProvider { vendor, own };

/// The provider that an option's name means (CudaOptions).
MatmulProvider matmul_provider(const std::string& option);

/// Matrix products: by our own kernels, or through cuBLASLt with as much of the epilogue fused as
/// the library takes, our own kernels doing the rest; or all of it, where a separate pass would
/// round a second time. There a problem's algorithm is chosen when it is first met and kept, so
/// that later calls allocate nothing and give equal bits.
class Matmul {
 public:
  explicit Matmul(MatmulProvider provider);
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
  void run_own(const Queue& queue, const MatmulProblem& problem, const MatmulCall& call,
               const OwnBatch& batch);

  std::unique_ptr<State> state_;
};

}  // namespace trainbench::gpu
