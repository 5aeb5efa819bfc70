#include "gpu/own_matmul.cuh"

namespace trainbench::gpu {

void own_matmul_fp64(const Queue& queue, const MatmulProblem& problem, const MatmulCall& call,
                     const OwnBatch& batch) {
  run_own_matmul<double, double, Unit::scalar>(queue, problem, call, batch);
}

}  // namespace trainbench::gpu
