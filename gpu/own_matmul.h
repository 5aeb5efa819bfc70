#pragma once

#include <array>

#include "gpu/kernels.h"
#include "gpu/matmul_problem.h"

namespace trainbench::gpu {

/// Distances between the matrices of an operand in a batch of `outer` x `inner`.
struct MatrixSteps {
  std::int64_t outer = 0;
  std::int64_t inner = 0;
};

/// How the products of a batch lie: for A, B and C.
struct OwnBatch {
  std::int64_t inner = 1;
  std::array<MatrixSteps, 3> steps{};
};

/// A product, or a batch of them, by our own kernels, all of the epilogue fused but the bias
/// gradient. Any size and alignment; sums in an order that depends on the problem and the device
/// alone. Uses the queue's scratch.
void own_matmul(const Queue& queue, const MatmulProblem& problem, const MatmulCall& call,
                const OwnBatch& batch = {});

}  // namespace trainbench::gpu
