#include "gpu/own_matmul.h"

#include <algorithm>
#include <limits>

#include "gpu/own_matmul_types.h"

namespace trainbench::gpu {

void own_matmul(const Queue& queue, const MatmulProblem& problem, const MatmulCall& call,
                const OwnBatch& batch) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max() / 2;
  if (problem.m == 0 || problem.n == 0 || problem.batch == 0) return;
  if (std::max({problem.m, problem.n, problem.k, problem.batch}) > kMost) {
    throw Unsupported("our products' extents go up to 2^30");
  }
  const auto run = [&] {
    switch (problem.operand) {
      case DType::f16:
        return own_matmul_fp16;
      case DType::bf16:
        return own_matmul_bf16;
      case DType::f64:
        return own_matmul_fp64;
      default:
        return problem.math == MathMode::tf32 ? own_matmul_tf32 : own_matmul_fp32;
    }
  }();
  run(queue, problem, call, batch);
}

}  // namespace trainbench::gpu
