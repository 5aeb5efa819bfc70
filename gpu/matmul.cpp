#include "gpu/matmul.h"

#include <cublasLt.h>

#include <algorithm>
#include <array>
#include <bit>
#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "gpu/runtime/buffer.h"
#include "gpu/runtime/check.h"

// cuBLASLt thinks in column-major matrices. A row-major C[m, n] is a column-major C^T[n, m], and
// C^T = op(B)^T op(A)^T: the library's first operand is our B, its second our A, its rows our n. So
// its bias over the rows of D is our bias over columns, and its BGRADB sums our op(A) over k.

namespace trainbench::gpu {
namespace {

// ---- What is asked for
// ---------------------------------------------------------------------------

/// Parts of an epilogue, as bits.
enum Part : unsigned { kBias = 1, kActivation = 2, kGradient = 4, kBiasGradient = 8 };

/// Everything that decides which algorithm is best.
struct Problem {
  std::int64_t m, n, k;
  DType operand, result;
  MathMode math;
  bool transpose_a, transpose_b, accumulate;
  unsigned parts;                // of the epilogue
  Activation activation;         // applied or differentiated
  bool saves;                    // for the activation's backward pass
  std::array<int, 5> alignment;  // of a, b, c, bias or its gradient, saved

  auto operator<=>(const Problem&) const = default;
};

unsigned parts_of(const MatmulEpilogue& epilogue) {
  return (epilogue.bias.absent() ? 0u : kBias) |
         (epilogue.activation == Activation::none ? 0u : kActivation) |
         (epilogue.gradient_of == Activation::none ? 0u : kGradient) |
         (epilogue.bias_gradient.absent() ? 0u : kBiasGradient);
}

/// Largest power of two, at most 256, that divides the address; 256 for none.
int alignment_of(const void* pointer) {
  const auto address = static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(pointer));
  return 1 << std::min(8, std::countr_zero(address));
}

/// A product's operands, checked.
struct Call {
  const MatmulForm& form;
  ConstTensor a;
  ConstTensor b;
  Tensor c;
  const MatmulEpilogue& epilogue;
};

Problem problem_of(const Call& call) {
  const auto& [form, a, b, c, epilogue] = call;
  require(a.shape.rank() == 2 && b.shape.rank() == 2 && c.shape.rank() == 2,
          "a product is of matrices");
  const std::int64_t k = a.shape[form.transpose_a ? 0 : 1];
  require(a.shape[form.transpose_a ? 1 : 0] == c.shape[0] &&
              b.shape[form.transpose_b ? 0 : 1] == c.shape[1] &&
              b.shape[form.transpose_b ? 1 : 0] == k,
          "a product's shapes agree: [m, k] times [k, n] is [m, n]");
  require(a.dtype == b.dtype, "both operands have the compute dtype");
  require(epilogue.activation == Activation::none || epilogue.gradient_of == Activation::none,
          "an epilogue applies an activation or a derivative, not both");
  const Activation activation =
      epilogue.activation == Activation::none ? epilogue.gradient_of : epilogue.activation;
  const ConstTensor saved = epilogue.saved.absent() ? epilogue.gradient_saved : epilogue.saved;
  const ConstTensor bias = epilogue.bias.absent() ? epilogue.bias_gradient : epilogue.bias;
  if (!saved.absent()) require_saved(activation, c, saved);
  return {.m = c.shape[0],
          .n = c.shape[1],
          .k = k,
          .operand = a.dtype,
          .result = c.dtype,
          .math = form.math,
          .transpose_a = form.transpose_a,
          .transpose_b = form.transpose_b,
          .accumulate = form.accumulate,
          .parts = parts_of(epilogue),
          .activation = activation,
          .saves = !epilogue.saved.absent(),
          .alignment = {alignment_of(a.data), alignment_of(b.data), alignment_of(c.data),
                        alignment_of(bias.data), alignment_of(saved.data)}};
}

std::string text_of(unsigned parts, Activation activation) {
  const std::string name = activation == Activation::gelu ? "gelu" : "relu";
  std::string text;
  const auto add = [&](Part part, const std::string& word) {
    if ((parts & part) != 0) text += (text.empty() ? "" : "+") + word;
  };
  add(kBias, "bias");
  add(kActivation, name);
  add(kGradient, "d" + name);
  add(kBiasGradient, "dbias");
  return text;
}

/// The product as reports name it: "matmul 256x2048x784 NT f32 bias+relu".
std::string text_of(const Problem& p) {
  std::string text = "matmul " + std::to_string(p.m) + "x" + std::to_string(p.n) + "x" +
                     std::to_string(p.k) + (p.transpose_a ? " T" : " N") +
                     (p.transpose_b ? "T " : "N ");
  text += p.math == MathMode::tf32 ? "tf32" : name_of(p.operand);
  if (p.result != p.operand) text += "->" + std::string(name_of(p.result));
  if (p.accumulate) text += " +=";
  if (p.parts == 0) return text;
  text += ' ';
  return text + text_of(p.parts, p.activation);
}

// ---- How the library is asked
// --------------------------------------------------------------------

struct Destroy {
  void operator()(cublasLtMatmulDescOpaque_t* p) const { cublasLtMatmulDescDestroy(p); }
  void operator()(cublasLtMatrixLayoutOpaque_t* p) const { cublasLtMatrixLayoutDestroy(p); }
  void operator()(cublasLtMatmulPreferenceOpaque_t* p) const { cublasLtMatmulPreferenceDestroy(p); }
};
using Desc = std::unique_ptr<cublasLtMatmulDescOpaque_t, Destroy>;
using Layout = std::unique_ptr<cublasLtMatrixLayoutOpaque_t, Destroy>;
using Preference = std::unique_ptr<cublasLtMatmulPreferenceOpaque_t, Destroy>;

template <class T>
void set(const Desc& desc, cublasLtMatmulDescAttributes_t attribute, const T& value) {
  TRAINBENCH_CUBLAS(cublasLtMatmulDescSetAttribute(desc.get(), attribute, &value, sizeof value));
}
template <class T>
void set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute,
         const T& value) {
  TRAINBENCH_CUBLAS(
      cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof value));
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

cublasComputeType_t compute_type(const Problem& problem) {
  if (problem.operand == DType::f64) return CUBLAS_COMPUTE_64F;
  return problem.math == MathMode::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

/// The column-major view of a row-major tensor.
Layout make_layout(const ConstTensor& tensor) {
  cublasLtMatrixLayout_t layout = nullptr;
  TRAINBENCH_CUBLAS(cublasLtMatrixLayoutCreate(
      &layout, cuda_type(tensor.dtype), static_cast<std::uint64_t>(tensor.shape[1]),
      static_cast<std::uint64_t>(tensor.shape[0]), tensor.shape[1]));
  return Layout(layout);
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
std::vector<Candidate> candidates(const Problem& problem, bool known_mask) {
  std::vector<Candidate> list;
  const unsigned parts = problem.parts;
  // Double precision is for checks, where only the product's own accuracy is documented. The same
  // holds for the library's tanh, which fp32 proper must not depend on.
  const bool is_double = problem.operand == DType::f64;
  const bool exact = problem.operand == DType::f32 && problem.math == MathMode::exact;
  const bool keeps_mask = (parts & kGradient) != 0 || problem.saves;
  const bool activates =
      problem.activation == Activation::relu ? known_mask || !keeps_mask : !exact;
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

/// A problem's descriptors and algorithm.
struct Plan {
  Desc desc;
  Layout a, b, c;  // of our A, B, C
  cublasLtMatmulAlgo_t algorithm{};
  unsigned fused = 0;
};

/// Sets the pointers that the fused part of an epilogue reads or writes.
void set_pointers(const Plan& plan, const MatmulEpilogue& epilogue) {
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

Desc make_desc(const Problem& problem, const Candidate& candidate, const ConstTensor& saved) {
  const bool is_double = problem.operand == DType::f64;
  cublasLtMatmulDesc_t raw = nullptr;
  TRAINBENCH_CUBLAS(
      cublasLtMatmulDescCreate(&raw, compute_type(problem), is_double ? CUDA_R_64F : CUDA_R_32F));
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

Preference make_preference(const Queue& queue, const Problem& problem) {
  cublasLtMatmulPreference_t raw = nullptr;
  TRAINBENCH_CUBLAS(cublasLtMatmulPreferenceCreate(&raw));
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
std::optional<cublasLtMatmulAlgo_t> choose_algorithm(cublasLtHandle_t handle, const Plan& plan,
                                                     const Preference& preference) {
  cublasLtMatmulHeuristicResult_t result{};
  int found = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
      handle, plan.desc.get(), plan.b.get(), plan.a.get(), plan.c.get(), plan.c.get(),
      preference.get(), 1, &result, &found);
  // The library answers both ways to combinations that it lacks.
  if (status == CUBLAS_STATUS_NOT_SUPPORTED || status == CUBLAS_STATUS_INVALID_VALUE) return {};
  TRAINBENCH_CUBLAS(status);
  if (found == 0 || result.state != CUBLAS_STATUS_SUCCESS) return {};
  return result.algo;
}

Plan make_plan(cublasLtHandle_t handle, const Queue& queue, const Problem& problem,
               const Call& call, bool known_mask) {
  const ConstTensor saved =
      call.epilogue.saved.absent() ? call.epilogue.gradient_saved : call.epilogue.saved;
  const Preference preference = make_preference(queue, problem);
  for (const Candidate& candidate : candidates(problem, known_mask)) {
    Plan plan{.desc = make_desc(problem, candidate, saved),
              .a = make_layout(call.a),
              .b = make_layout(call.b),
              .c = make_layout(call.c),
              .fused = candidate.parts};
    set_pointers(plan, call.epilogue);  // their alignment counts
    if (const auto algorithm = choose_algorithm(handle, plan, preference)) {
      plan.algorithm = *algorithm;
      return plan;
    }
  }
  throw Unsupported("cuBLASLt has no algorithm for " + text_of(problem));
}

void run_product(cublasLtHandle_t handle, const Queue& queue, const Problem& problem,
                 const Plan& plan, const Call& call) {
  set_pointers(plan, call.epilogue);
  const double double_factors[] = {1.0, problem.accumulate ? 1.0 : 0.0};
  const float float_factors[] = {1.0f, problem.accumulate ? 1.0f : 0.0f};
  const bool is_double = problem.operand == DType::f64;
  const auto factor = [&](int which) -> const void* {
    return is_double ? static_cast<const void*>(double_factors + which) : float_factors + which;
  };
  TRAINBENCH_CUBLAS(cublasLtMatmul(handle, plan.desc.get(), factor(0), call.b.data, plan.b.get(),
                                   call.a.data, plan.a.get(), factor(1), call.c.data, plan.c.get(),
                                   call.c.data, plan.c.get(), &plan.algorithm, queue.scratch,
                                   queue.scratch_bytes, queue.stream));
}

/// The parts of the epilogue that the library left.
void run_rest(const Queue& queue, const Problem& problem, unsigned rest, const Call& call) {
  const MatmulEpilogue& epilogue = call.epilogue;
  if ((rest & kBias) != 0) add_bias(queue, call.c, epilogue.bias);
  if ((rest & kActivation) != 0) {
    activation_forward(queue, problem.activation, call.c, epilogue.saved);
  }
  if ((rest & kGradient) != 0) {
    activation_backward(queue, problem.activation, epilogue.gradient_saved, call.c);
  }
  if ((rest & kBiasGradient) != 0) {
    if (problem.transpose_a) {
      column_sums(queue, call.a, epilogue.bias_gradient);
    } else {
      row_sums(queue, call.a, epilogue.bias_gradient);
    }
  }
}

std::string provider_of(const Problem& problem, const Plan& plan) {
  const unsigned rest = problem.parts & ~plan.fused;
  if (rest == 0) return "cublaslt";
  return "cublaslt, own kernels for " + text_of(rest, problem.activation);
}

/// A product whose ReLU mask is known beforehand, in device memory. The sign of C[row][column] is
/// that of A's first column times B's.
class MaskProbe {
 public:
  MaskProbe(const Queue& queue, DType dtype)
      : stream_(queue.stream),
        dtype_(dtype),
        a_(kRows * kDepth * size_of(dtype)),
        b_(kColumns * kDepth * size_of(dtype)),
        c_(kRows * kColumns * size_of(dtype)),
        mask_(static_cast<std::size_t>(mask_shape().elements())) {
    upload(a_, kRows, [](std::int64_t row) { return row % 2 == 0; });
    upload(b_, kColumns, positive_column);
  }

  ConstTensor a() const { return {a_.data(), Shape{kRows, kDepth}, dtype_}; }
  ConstTensor b() const { return {b_.data(), Shape{kColumns, kDepth}, dtype_}; }
  Tensor c() const { return {c_.data(), Shape{kRows, kColumns}, dtype_}; }
  Tensor mask() const { return {mask_.data(), mask_shape(), DType::u8}; }

  /// True if the mask, as the library wrote it, is the one we expect; waits.
  bool matches() const {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(mask_shape().elements()));
    TRAINBENCH_CUDA(
        cudaMemcpyAsync(bytes.data(), mask_.data(), bytes.size(), cudaMemcpyDeviceToHost, stream_));
    TRAINBENCH_CUDA(cudaStreamSynchronize(stream_));
    const std::int64_t pitch = mask_shape()[1];
    for (std::int64_t row = 0; row < kRows; ++row) {
      for (std::int64_t column = 0; column < kColumns; ++column) {
        const std::uint8_t byte = bytes[static_cast<std::size_t>(row * pitch + column / 8)];
        const bool expected = (row % 2 == 0) == positive_column(column);
        if ((byte >> (column % 8) & 1) != static_cast<int>(expected)) return false;
      }
    }
    return true;
  }

 private:
  static constexpr std::int64_t kRows = 16;
  static constexpr std::int64_t kColumns = 136;  // two units of padding, one of them part filled
  static constexpr std::int64_t kDepth = 16;

  static Shape mask_shape() { return saved_shape(Activation::relu, kRows, kColumns); }
  /// A pattern that no shift or reversal of bits, bytes or words maps to itself.
  static bool positive_column(std::int64_t column) {
    return (static_cast<std::uint64_t>(column + 1) * 0x9e3779b97f4a7c15u >> 63) != 0;
  }

  /// Rows of which the first element is 1 or -1, the others zero.
  template <class F>
  void upload(const DeviceBuffer& to, std::int64_t rows, F positive) const {
    std::vector<std::byte> bytes(to.bytes(), std::byte{0});
    for (std::int64_t row = 0; row < rows; ++row) {
      const float value = positive(row) ? 1.0f : -1.0f;
      const Float16 half(value);
      const BFloat16 brain(value);
      const void* const from = dtype_ == DType::f16    ? static_cast<const void*>(&half)
                               : dtype_ == DType::bf16 ? static_cast<const void*>(&brain)
                                                       : &value;
      const std::size_t size = size_of(dtype_);
      std::copy_n(static_cast<const std::byte*>(from), size,
                  bytes.begin() + row * kDepth * static_cast<std::int64_t>(size));
    }
    TRAINBENCH_CUDA(
        cudaMemcpyAsync(to.data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice, stream_));
    TRAINBENCH_CUDA(cudaStreamSynchronize(stream_));
  }

  cudaStream_t stream_;
  DType dtype_;
  DeviceBuffer a_;
  DeviceBuffer b_;
  DeviceBuffer c_;
  DeviceBuffer mask_;
};

}  // namespace

struct Matmul::State {
  State() { TRAINBENCH_CUBLAS(cublasLtCreate(&handle)); }
  ~State() { cublasLtDestroy(handle); }

  cublasLtHandle_t handle = nullptr;
  std::map<Problem, Plan> plans;
  std::map<DType, bool> known_masks;  // probed dtypes: is the library's mask laid out as ours
  std::vector<Served> served;
};

Matmul::Matmul() : state_(std::make_unique<State>()) {}
Matmul::~Matmul() = default;

const std::vector<Served>& Matmul::served() const { return state_->served; }

void Matmul::run(const Queue& queue, const MatmulForm& form, ConstTensor a, ConstTensor b, Tensor c,
                 const MatmulEpilogue& epilogue) {
  const Call call{form, a, b, c, epilogue};
  const Problem problem = problem_of(call);
  auto found = state_->plans.find(problem);
  if (found == state_->plans.end()) {
    const auto mask = state_->known_masks.find(c.dtype);
    const bool known_mask = mask != state_->known_masks.end() && mask->second;
    Plan plan = make_plan(state_->handle, queue, problem, call, known_mask);
    state_->served.push_back({text_of(problem), provider_of(problem, plan)});
    found = state_->plans.emplace(problem, std::move(plan)).first;
  }
  const Plan& plan = found->second;
  run_product(state_->handle, queue, problem, plan, call);
  run_rest(queue, problem, problem.parts & ~plan.fused, call);
}

void Matmul::probe_relu_mask(const Queue& queue, DType dtype) {
  if (dtype == DType::f64 || state_->known_masks.contains(dtype)) return;
  const MaskProbe probe(queue, dtype);
  const MatmulForm form{.transpose_b = true};
  const MatmulEpilogue epilogue{.activation = Activation::relu, .saved = probe.mask()};
  const Call call{form, probe.a(), probe.b(), probe.c(), epilogue};
  const Problem problem = problem_of(call);
  const Plan plan = make_plan(state_->handle, queue, problem, call, true);
  bool known = false;
  if ((plan.fused & kActivation) != 0) {
    run_product(state_->handle, queue, problem, plan, call);
    known = probe.matches();
  }
  state_->known_masks[dtype] = known;
}

}  // namespace trainbench::gpu
