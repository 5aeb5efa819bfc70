#pragma once

#include <cublasLt.h>

namespace trainbench::gpu {

/// The functions of cuBLASLt that we call, each under its own name. The library is opened at the
/// first use and not linked: as it is loaded, it opens the CUDA driver, which help, lists and runs
/// on the CPU must not.
struct CublasLt {
#define TRAINBENCH_CUBLASLT_FUNCTIONS(F)  \
  F(cublasLtCreate)                       \
  F(cublasLtDestroy)                      \
  F(cublasLtGetStatusName)                \
  F(cublasLtGetStatusString)              \
  F(cublasLtGetVersion)                   \
  F(cublasLtMatmul)                       \
  F(cublasLtMatmulAlgoGetHeuristic)       \
  F(cublasLtMatmulDescCreate)             \
  F(cublasLtMatmulDescDestroy)            \
  F(cublasLtMatmulDescSetAttribute)       \
  F(cublasLtMatmulPreferenceCreate)       \
  F(cublasLtMatmulPreferenceDestroy)      \
  F(cublasLtMatmulPreferenceSetAttribute) \
  F(cublasLtMatrixLayoutCreate)           \
  F(cublasLtMatrixLayoutDestroy)          \
  F(cublasLtMatrixLayoutSetAttribute)
// A declared name takes no parentheses: NOLINTNEXTLINE(bugprone-macro-parentheses)
#define TRAINBENCH_MEMBER(name) decltype(&::name) name;
  TRAINBENCH_CUBLASLT_FUNCTIONS(TRAINBENCH_MEMBER)
#undef TRAINBENCH_MEMBER
};

/// Throws Unsupported where the library of this CUDA release is not found.
const CublasLt& cublaslt();

}  // namespace trainbench::gpu
