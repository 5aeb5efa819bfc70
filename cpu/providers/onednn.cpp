#include "cpu/providers/onednn.h"

#include <oneapi/dnnl/dnnl_debug.h>

#include <array>
#include <oneapi/dnnl/dnnl.hpp>

#include "common/core/error.h"

namespace trainbench {
namespace {

dnnl::engine& cpu_engine() {
  static dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::stream& cpu_stream() {
  static dnnl::stream stream(cpu_engine());
  return stream;
}

dnnl::memory::data_type data_type_of(DType dtype) {
  return dtype == DType::bf16 ? dnnl::memory::data_type::bf16 : dnnl::memory::data_type::f32;
}

dnnl::memory::desc matrix(std::int64_t rows, std::int64_t columns, bool transposed, DType dtype) {
  const dnnl::memory::dims strides =
      transposed ? dnnl::memory::dims{1, rows} : dnnl::memory::dims{columns, 1};
  return {{rows, columns}, data_type_of(dtype), strides};
}

dnnl::primitive_attr attributes_of(const MatmulProblem& p) {
  dnnl::post_ops after;
  if (p.accumulate) after.append_sum(1.0f);
  if (p.activation != Activation::none) {
    const auto algorithm = p.activation == Activation::relu ? dnnl::algorithm::eltwise_relu
                                                            : dnnl::algorithm::eltwise_gelu_tanh;
#if DNNL_VERSION_MAJOR >= 3
    after.append_eltwise(algorithm, 0.0f, 0.0f);
#else
    after.append_eltwise(1.0f, algorithm, 0.0f, 0.0f);
#endif
  }
  dnnl::primitive_attr attributes;
  attributes.set_post_ops(after);
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::matmul::primitive_desc describe(const MatmulProblem& p) {
  const dnnl::memory::desc a = matrix(p.m, p.k, p.transpose_a, p.operands);
  const dnnl::memory::desc b = matrix(p.k, p.n, p.transpose_b, p.operands);
  const dnnl::memory::desc c = matrix(p.m, p.n, false, p.result);
  const dnnl::memory::desc bias = p.bias ? matrix(1, p.n, false, p.result) : dnnl::memory::desc();
  const dnnl::primitive_attr attributes = attributes_of(p);
  constexpr bool kAllowEmpty = true;
#if DNNL_VERSION_MAJOR >= 3
  return {cpu_engine(), a, b, bias, c, attributes, kAllowEmpty};
#else
  return {dnnl::matmul::desc(a, b, bias, c), attributes, cpu_engine(), kAllowEmpty};
#endif
}

/// The primitive with its memory objects, which are only pointed at the operands of each run.
class OnednnPlan final : public MatmulPlan {
 public:
  explicit OnednnPlan(const dnnl::matmul::primitive_desc& description)
      : workspace_bytes_(description.scratchpad_desc().get_size()),
        primitive_(description),
        operands_{argument(DNNL_ARG_SRC, description.src_desc()),
                  argument(DNNL_ARG_WEIGHTS, description.weights_desc()),
                  argument(DNNL_ARG_DST, description.dst_desc()),
                  argument(DNNL_ARG_SCRATCHPAD, description.scratchpad_desc()),
                  argument(DNNL_ARG_BIAS, description.bias_desc())},
        has_bias_(description.bias_desc().get_size() > 0) {}

  std::size_t workspace_bytes() const override { return workspace_bytes_; }

  void run(const MatmulOperands& o) override {
    const std::array<const void*, kArguments> data{o.a, o.b, o.c, o.workspace, o.bias};
    std::array<dnnl_exec_arg_t, kArguments> arguments{};
    for (std::size_t i = 0; i < kArguments; ++i) {
      // The library takes one pointer type for what it reads and what it writes.
      operands_[i].memory.set_data_handle(const_cast<void*>(data[i]));
      arguments[i] = {operands_[i].index, operands_[i].memory.get()};
    }
    const int count = static_cast<int>(kArguments) - (has_bias_ ? 0 : 1);
    const dnnl_status_t status =
        dnnl_primitive_execute(primitive_.get(), cpu_stream().get(), count, arguments.data());
    if (status != dnnl_success) {
      throw DeviceError(std::string("oneDNN matmul failed: ") + dnnl_status2str(status));
    }
  }

 private:
  struct Argument {
    int index;
    dnnl::memory memory;
  };
  static Argument argument(int index, const dnnl::memory::desc& description) {
    return {index, dnnl::memory(description, cpu_engine(), DNNL_MEMORY_NONE)};
  }
  static constexpr std::size_t kArguments = 5;

  std::size_t workspace_bytes_;
  dnnl::matmul primitive_;
  std::array<Argument, kArguments> operands_;  // the bias, which may be missing, comes last
  bool has_bias_;
};

/// The instruction that multiplies bf16; without it oneDNN converts, and so can we.
bool multiplies_bf16() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512bf16") != 0;
#else
  return false;
#endif
}

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
    return std::make_unique<OnednnPlan>(description);
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
