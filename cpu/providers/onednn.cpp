#include "cpu/providers/onednn.h"

#include <oneapi/dnnl/dnnl_debug.h>

#include <array>

#include "cpu/providers/onednn_runtime.h"

namespace trainbench {
namespace {

dnnl::memory::desc matrix(std::int64_t rows, std::int64_t columns, bool transposed, DType dtype) {
  const dnnl::memory::dims strides =
      transposed ? dnnl::memory::dims{1, rows} : dnnl::memory::dims{columns, 1};
  return {{rows, columns}, onednn_type(dtype), strides};
}

/// An activation as the library names it, with its parameter.
struct Eltwise {
  dnnl::algorithm algorithm;
  float alpha;
};

Eltwise eltwise_of(Activation activation) {
  if (activation == Activation::relu) return {dnnl::algorithm::eltwise_relu, 0};
  if (activation == Activation::gelu) return {dnnl::algorithm::eltwise_gelu_tanh, 0};
  return {dnnl::algorithm::eltwise_swish, 1};
}

dnnl::primitive_attr attributes_of(const MatmulProblem& p) {
  dnnl::post_ops after;
  if (p.accumulate) after.append_sum(1.0f);
  if (p.activation != Activation::none) {
    const auto [algorithm, alpha] = eltwise_of(p.activation);
#if DNNL_VERSION_MAJOR >= 3
    after.append_eltwise(algorithm, alpha, 0.0f);
#else
    after.append_eltwise(1.0f, algorithm, alpha, 0.0f);
#endif
  }
  dnnl::primitive_attr attributes = onednn_attributes();
  attributes.set_post_ops(after);
  return attributes;
}

dnnl::matmul::primitive_desc describe(const MatmulProblem& p) {
  const dnnl::memory::desc a = matrix(p.m, p.k, p.transpose_a, p.operands);
  const dnnl::memory::desc b = p.packed_b ? dnnl::memory::desc({p.k, p.n}, onednn_type(p.operands),
                                                               dnnl::memory::format_tag::any)
                                          : matrix(p.k, p.n, p.transpose_b, p.operands);
  const dnnl::memory::desc c = matrix(p.m, p.n, false, p.result);
  const dnnl::memory::desc bias = p.bias ? matrix(1, p.n, false, p.result) : dnnl::memory::desc();
  const dnnl::primitive_attr attributes = attributes_of(p);
  constexpr bool kAllowEmpty = true;
#if DNNL_VERSION_MAJOR >= 3
  return {onednn_engine(), a, b, bias, c, attributes, kAllowEmpty};
#else
  return {dnnl::matmul::desc(a, b, bias, c), attributes, onednn_engine(), kAllowEmpty};
#endif
}

/// The primitive with its memory objects, which are only pointed at the operands of each run.
class OnednnPlan final : public MatmulPlan {
 public:
  OnednnPlan(const MatmulProblem& problem, const dnnl::matmul::primitive_desc& description)
      : plain_b_(matrix(problem.k, problem.n, problem.transpose_b, problem.operands)),
        packed_b_(description.weights_desc()),
        packed_bytes_(problem.packed_b ? packed_b_.get_size() : 0),
        workspace_bytes_(description.scratchpad_desc().get_size()),
        primitive_(description),
        operands_{argument(DNNL_ARG_SRC, description.src_desc()),
                  argument(DNNL_ARG_WEIGHTS, description.weights_desc()),
                  argument(DNNL_ARG_DST, description.dst_desc()),
                  argument(DNNL_ARG_SCRATCHPAD, description.scratchpad_desc()),
                  argument(DNNL_ARG_BIAS, description.bias_desc())},
        has_bias_(description.bias_desc().get_size() > 0) {}

  std::size_t workspace_bytes() const override { return workspace_bytes_; }
  std::size_t packed_bytes() const override { return packed_bytes_; }

  void pack(const void* b, void* packed) override {
    if (packing_.get(true) == nullptr) {
      packing_ = dnnl::reorder(
          dnnl::reorder::primitive_desc(onednn_engine(), plain_b_, onednn_engine(), packed_b_));
    }
    const dnnl::memory from(plain_b_, onednn_engine(), const_cast<void*>(b));
    const dnnl::memory to(packed_b_, onednn_engine(), packed);
    const std::array<dnnl_exec_arg_t, 2> arguments{
        {{DNNL_ARG_FROM, from.get()}, {DNNL_ARG_TO, to.get()}}};
    onednn_execute(packing_, arguments.data(), static_cast<int>(arguments.size()), "reorder");
  }

  void run(const MatmulOperands& o) override {
    const std::array<const void*, kArguments> data{o.a, o.b, o.c, o.workspace, o.bias};
    std::array<dnnl_exec_arg_t, kArguments> arguments{};
    for (std::size_t i = 0; i < kArguments; ++i) {
      // The library takes one pointer type for what it reads and what it writes.
      operands_[i].memory.set_data_handle(const_cast<void*>(data[i]));
      arguments[i] = {operands_[i].index, operands_[i].memory.get()};
    }
    const int count = static_cast<int>(kArguments) - (has_bias_ ? 0 : 1);
    onednn_execute(primitive_, arguments.data(), count, "matmul");
  }

 private:
  struct Argument {
    int index;
    dnnl::memory memory;
  };
  static Argument argument(int index, const dnnl::memory::desc& description) {
    return {index, dnnl::memory(description, onednn_engine(), DNNL_MEMORY_NONE)};
  }
  static constexpr std::size_t kArguments = 5;

  dnnl::memory::desc plain_b_;
  dnnl::memory::desc packed_b_;
  std::size_t packed_bytes_;
  dnnl::reorder packing_;
  std::size_t workspace_bytes_;
  dnnl::matmul primitive_;
  std::array<Argument, kArguments> operands_;  // the bias, which may be missing, comes last
  bool has_bias_;
};

class OnednnProvider final : public MatmulProvider {
 public:
  std::string_view name() const override { return "onednn"; }

  std::unique_ptr<MatmulPlan> plan(const MatmulProblem& problem) const override {
    const bool floats = problem.operands == DType::f32 && problem.result == DType::f32;
    const bool halves = problem.operands == DType::bf16 &&
                        (problem.result == DType::bf16 || problem.result == DType::f32);
    if (!floats && !(halves && multiplies_bf16())) return nullptr;
    const dnnl::matmul::primitive_desc description = describe(problem);
    if (!description) return nullptr;
    // The reference implementation is a plain loop, there for completeness.
    if (std::string_view(description.impl_info_str()).starts_with("ref")) return nullptr;
    return std::make_unique<OnednnPlan>(problem, description);
  }
};

}  // namespace

const MatmulProvider& onednn_provider() {
  static const OnednnProvider provider;
  return provider;
}

std::string onednn_version() {
  const dnnl_version_t& v = *dnnl_version();
  return std::to_string(v.major) + "." + std::to_string(v.minor) + "." + std::to_string(v.patch) +
         ", kernels for " + dnnl_cpu_isa2str(dnnl_get_effective_cpu_isa());
}

}  // namespace trainbench
