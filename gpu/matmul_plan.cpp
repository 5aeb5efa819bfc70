#include "gpu/matmul_plan.h"

#include <optional>
#include <utility>
#include <vector>

#include "gpu/runtime/check.h"

// cuBLASLt thinks in column-major matrices. A row-major C[m, n] is a column-major C^T[n, m], and
// C^T = op(B)^T op(A)^T: the library's first operand is our B, its second our A, its rows our n. So
// its bias over the rows of D is our bias over columns, and its BGRADB sums our op(A) over k.

namespace trainbench::gpu {
namespace {

using Desc = MatmulPlan::Desc;
using Layout = MatmulPlan::Layout;

struct DestroyPreference {
  void operator()(cublasLtMatmulPreferenceOpaque_t* p) const {
    cublaslt().cublasLtMatmulPreferenceDestroy(p);
  }
};
using Preference = std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, DestroyPreference>;

template <class T>
void set(const Desc& desc, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  TRAINBENCH_CUBLAS(
      cublaslt().cublasLtMatmulDescSetAttribute(desc.get(), attribute, &value, sizeof value));
}
template <class T>
void set(const Layout& layout, cublasLtMatrixLayoutAttribute_t attribute, const T& value) {
  TRAINBENCH_CUBLAS(
      cublaslt().cublasLtMatrixLayoutSetAttribute(layout.get(), attribute, &value, sizeof value));
}
template <class T>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute,
         const T& value) {
  TRAINBENCH_CUBLAS(cublaslt().cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute,
                                                                    &value, sizeof value));
}

cudaDataType_t cuda_type(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return CUDA_R_16F;
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::f64:
      return CUDA_R_64F;
    default:
      return CUDA_R_32F;
  }
}

cublasComputeType_t compute_type(const MatmulProblem& problem) {
  if (problem.operand == DType::f64) return CUBLAS_COMPUTE_64F;
  return problem.math == MathMode::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

/// The column-major view of row-major matrices of that many columns.
Layout make_layout(DType dtype, std::int64_t rows, std::int64_t columns, const MatrixLayout& matrix,
                   std::int64_t batch) {
  cublasLtMatrixLayout_t raw = nullptr;
  TRAINBENCH_CUBLAS(cublaslt().cublasLtMatrixLayoutCreate(
      &raw, cuda_type(dtype), static_cast<std::uint64_t>(columns), static_cast<std::uint64_t>(rows),
      matrix.row_stride));
  Layout layout(raw);
  if (batch > 1) {
    set(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, static_cast<std::int32_t>(batch));
    set(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix.batch_stride);
  }
  return layout;
}

/// An epilogue of the library and the parts it covers.
struct Candidate {
  int epilogue;
  unsigned parts;
};

int forward_epilogue(unsigned parts, Activation activation, bool saves) {
  // The library's enumerators are unions of these bits.
  constexpr int kAuxiliary = CUBLASLT_EPILOGUE_RELU_AUX & ~CUBLASLT_EPILOGUE_RELU;
  int epilogue = 0;
  if ((parts & kBias) != 0) epilogue |= CUBLASLT_EPILOGUE_BIAS;
  if ((parts & kActivation) != 0) {
    epilogue |= activation == Activation::gelu ? CUBLASLT_EPILOGUE_GELU : CUBLASLT_EPILOGUE_RELU;
    if (saves) epilogue |= kAuxiliary;
  }
  return epilogue;
}

/// What to ask the library for, most fused first.
std::vector<Candidate> candidates(const MatmulProblem& problem, bool known_mask) {
  std::vector<Candidate> list;
  const unsigned parts = problem.parts;
  // Double precision is for checks, where only the product's own accuracy is documented. The same
  // holds for the library's tanh, which fp32 proper must not depend on.
  const bool is_double = problem.operand == DType::f64;
  const bool exact = problem.operand == DType::f32 && problem.math == MathMode::exact;
  const bool keeps_mask = (parts & kGradient) != 0 || problem.saves;
  const bool activates = problem.activation == Activation::relu   ? known_mask || !keeps_mask
                         : problem.activation == Activation::gelu ? !exact
                                                                  : false;
  const unsigned forward = parts & (kBias | kActivation);
  if (!is_double && forward != 0) {
    if (activates || forward == kBias) {
      list.push_back({forward_epilogue(forward, problem.activation, problem.saves), forward});
    }
    if (forward == (kBias | kActivation)) list.push_back({CUBLASLT_EPILOGUE_BIAS, kBias});
  }
  if (!is_double && (parts & kGradient) != 0 && activates) {
    list.push_back(
        {problem.activation == Activation::gelu ? CUBLASLT_EPILOGUE_DGELU : CUBLASLT_EPILOGUE_DRELU,
         kGradient});
  }
  if (!is_double && (parts & kBiasGradient) != 0) {
    list.push_back({CUBLASLT_EPILOGUE_BGRADB, kBiasGradient});
  }
  list.push_back({CUBLASLT_EPILOGUE_DEFAULT, 0});
  return list;
}

/// Sets the pointers that the fused part of an epilogue reads or writes.
void set_pointers(const MatmulPlan& plan, const MatmulEpilogue& epilogue) {
  if ((plan.fused & kBias) != 0) {
    set(plan.desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, epilogue.bias.data);
  }
  if ((plan.fused & kBiasGradient) != 0) {
    set(plan.desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, epilogue.bias_gradient.data);
  }
  if ((plan.fused & kActivation) != 0 && !epilogue.saved.absent()) {
    set(plan.desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, epilogue.saved.data);
  }
  if ((plan.fused & kGradient) != 0) {
    set(plan.desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, epilogue.gradient_saved.data);
  }
}

Desc make_desc(const MatmulProblem& problem, const Candidate& candidate, const ConstTensor& saved) {
  const bool is_double = problem.operand == DType::f64;
  cublasLtMatmulDesc_t raw = nullptr;
  TRAINBENCH_CUBLAS(cublaslt().cublasLtMatmulDescCreate(&raw, compute_type(problem),
                                                        is_double ? CUDA_R_64F : CUDA_R_32F));
  Desc desc(raw);
  set(desc, CUBLASLT_MATMUL_DESC_TRANSA, problem.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(desc, CUBLASLT_MATMUL_DESC_TRANSB, problem.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
  set(desc, CUBLASLT_MATMUL_DESC_EPILOGUE, static_cast<std::uint32_t>(candidate.epilogue));
  if ((candidate.parts & (kActivation | kGradient)) != 0 && !saved.absent()) {
    // In elements, which for the mask are bits.
    const std::int64_t bits = saved.dtype == DType::u8 ? 8 : 1;
    set(desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, saved.shape[1] * bits);
  }
  return desc;
}

Preference make_preference(const Queue& queue, const MatmulProblem& problem) {
  cublasLtMatmulPreference_t raw = nullptr;
  TRAINBENCH_CUBLAS(cublaslt().cublasLtMatmulPreferenceCreate(&raw));
  Preference preference(raw);
  set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
      static_cast<std::uint64_t>(queue.scratch_bytes));
  // Partial sums of a split k are added in the compute type: in the output type fp16 would lose
  // what accumulating in fp32 gained.
  set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
      static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
  const auto alignment = [&](int operand) {
    return static_cast<std::uint32_t>(problem.alignment[static_cast<std::size_t>(operand)]);
  };
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment(1));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment(0));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment(2));
  set(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment(2));
  return preference;
}

/// The library's first choice, or nothing where it has none.
std::optional<cublasLtMatmulAlgo_t> choose_algorithm(cublasLtHandle_t handle,
                                                     const MatmulPlan& plan,
                                                     const Preference& preference) {
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  const cublasStatus_t status = cublaslt().cublasLtMatmulAlgoGetHeuristic(
      handle, plan.desc.get(), plan.b.get(), plan.a.get(), plan.c.get(), plan.c.get(),
      preference.get(), 1, &result, &found);
  // The library answers both ways to combinations that it lacks.
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return {};
  TRAINBENCH_CUBLAS(status);
  if (found == 0 || result.state != CUBLAS_STATUS_SUCCESS) return {};
  return result.algo;
}

}  // namespace

MatmulPlan make_plan(cublasLtHandle_t handle, const Queue& queue, const MatmulProblem& problem,
                     const MatmulCall& call, bool known_mask) {
  const ConstTensor saved =
      call.epilogue.saved.absent() ? call.epilogue.gradient_saved : call.epilogue.saved;
  const Preference preference = make_preference(queue, problem);
  const auto layout = [&](bool transposed, std::int64_t rows, std::int64_t columns,
                          const MatrixLayout& matrix, DType dtype) {
    if (transposed) std::swap(rows, columns);
    return make_layout(dtype, rows, columns, matrix, problem.batch);
  };
  for (const Candidate& candidate : candidates(problem, known_mask)) {
    MatmulPlan plan{
        .desc = make_desc(problem, candidate, saved),
        .a = layout(problem.transpose_a, problem.m, problem.k, problem.a, problem.operand),
        .b = layout(problem.transpose_b, problem.k, problem.n, problem.b, problem.operand),
        .c = layout(false, problem.m, problem.n, problem.c, problem.result),
        .fused = candidate.parts};
    set_pointers(plan, call.epilogue);  // their alignment counts
    if (const auto algorithm = choose_algorithm(handle, plan, preference)) {
      plan.algorithm = *algorithm;
      return plan;
    }
  }
  throw Unsupported("cuBLASLt has no algorithm for " + text_of(problem));
}

void run_product(cublasLtHandle_t handle, const Queue& queue, const MatmulProblem& problem,
                 const MatmulPlan& plan, const MatmulCall& call) {
  set_pointers(plan, call.epilogue);
  const double double_factors[] = {1.0, problem.accumulate ? 1.0 : 0.0};
  const float float_factors[] = {1.0f, problem.accumulate ? 1.0f : 0.0f};
  const bool is_double = problem.operand == DType::f64;
  const auto factor = [&](int which) -> const void* {
    return is_double ? static_cast<const void*>(double_factors + which) : float_factors + which;
  };
  TRAINBENCH_CUBLAS(cublaslt().cublasLtMatmul(
      handle, plan.desc.get(), factor(0), call.b.data, plan.b.get(), call.a.data, plan.a.get(),
      factor(1), call.c.data, plan.c.get(), call.c.data, plan.c.get(), &plan.algorithm,
      queue.scratch, queue.scratch_bytes, queue.stream));
}

}  // namespace trainbench::gpu
