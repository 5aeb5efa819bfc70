#pragma once

#include <cublasLt.h>

#include <memory>

#include "gpu/kernels.h"
#include "gpu/matmul_problem.h"
#include "gpu/runtime/cublaslt.h"

namespace trainbench::gpu {

/// How cuBLASLt serves a problem: descriptors, algorithm, and what of the epilogue is fused.
struct MatmulPlan {
  struct Destroy {
    void operator()(cublasLtMatmulDescOpaque_t* p) const {
      cublaslt().cublasLtMatmulDescDestroy(p);
    }
    void operator()(cublasLtMatrixLayoutOpaque_t* p) const {
      cublaslt().cublasLtMatrixLayoutDestroy(p);
    }
  };
  using Desc = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy>;
  using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy>;

  Desc desc;
  Layout a, b, c;
  cublasLtMatmulAlgo_t algorithm{};
  unsigned fused = 0;  // parts of the epilogue
};

/// Asks the library for its best algorithm with as much of the epilogue fused as it takes.
/// `known_mask`: its ReLU mask has the layout of saved_shape(). Throws Unsupported where it has no
/// algorithm even for the plain product.
MatmulPlan make_plan(cublasLtHandle_t handle, const Queue& queue, const MatmulProblem& problem,
                     const MatmulCall& call, bool known_mask);

/// Enqueues the product and what is fused of its epilogue. Allocates nothing.
void run_product(cublasLtHandle_t handle, const Queue& queue, const MatmulProblem& problem,
                 const MatmulPlan& plan, const MatmulCall& call);

}  // namespace trainbench::gpu
