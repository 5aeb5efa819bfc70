#include "gpu/own_matmul.cuh"

namespace trainbench::gpu {

void own_matmul_tf32(const Queue& queue, const MatmulProblem& problem, const MatmulCall& call,
                     const OwnBatch& batch) {
  run_own_matmul<float, float, Unit::tensor>(queue, problem, call, batch);
}

}  // namespace trainbench::gpu
