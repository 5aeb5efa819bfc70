#include "gpu/own_matmul.cuh"

namespace trainbench::gpu {

void own_matmul_fp16(const Queue& queue, const MatmulProblem& problem, const MatmulCall& call,
                     const OwnBatch& batch) {
  if (problem.result == DType::f32) {
    run_own_matmul<__half, float, Unit::tensor>(queue, problem, call, batch);
  } else {
    run_own_matmul<__half, __half, Unit::tensor>(queue, problem, call, batch);
  }
}

}  // namespace trainbench::gpu
