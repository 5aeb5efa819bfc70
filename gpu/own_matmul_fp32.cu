#include "gpu/own_matmul.cuh"

namespace trainbench::gpu {

void own_matmul_fp32(const Queue& queue, const MatmulProblem& problem, const MatmulCall& call,
                     const OwnBatch& batch) {
  run_own_matmul<float, float, Unit::scalar>(queue, problem, call, batch);
}

}  // namespace trainbench::gpu
