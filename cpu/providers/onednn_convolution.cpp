#include <array>

#include "common/core/error.h"
#include "cpu/providers/onednn.h"
#include "cpu/providers/onednn_runtime.h"

namespace trainbench {
namespace {

using dnnl::memory;

/// The primitive of a pass, and what it wants its weights to look like.
struct Described {
  dnnl::primitive primitive;
  memory::desc x;
  memory::desc weights;
  memory::desc y;
  memory::desc bias;
  memory::desc scratchpad;
};

/// A convolution in the library's terms. The weights' layout is left to it.
struct Terms {
  explicit Terms(const ConvolutionProblem& p) {
    const Window window{p.kernel, p.stride, p.padding};
    const memory::dims image{p.batch, p.channels, p.height, p.width};
    const memory::dims filters{p.filters, p.channels, p.kernel, p.kernel};
    const memory::dims output{p.batch, p.filters, window.outputs(p.height),
                              window.outputs(p.width)};
    const memory::data_type read = onednn_type(p.operands);
    const memory::data_type written = onednn_type(p.result);
    const auto type = [&](ConvolutionPass pass) { return p.pass == pass ? written : read; };
    x = {image, type(ConvolutionPass::data_gradient), memory::format_tag::nhwc};
    weights = {filters, type(ConvolutionPass::weight_gradient), memory::format_tag::any};
    own_weights = {filters, type(ConvolutionPass::weight_gradient), memory::format_tag::ohwi};
    y = {output, type(ConvolutionPass::forward), memory::format_tag::nhwc};
    if (p.bias) bias = {{p.filters}, read, memory::format_tag::a};
    strides = {p.stride, p.stride};
    padding = {p.padding, p.padding};
  }

  memory::desc x, weights, own_weights, y, bias;
  memory::dims strides, padding;
};

constexpr auto kDirect = dnnl::algorithm::convolution_direct;
constexpr bool kAllowEmpty = true;

template <class Primitive, class Description>
bool describe(const Description& description, Described& described) {
  // The reference implementation is a plain loop, there for completeness.
  if (!description || std::string_view(description.impl_info_str()).starts_with("ref")) {
    return false;
  }
  described.primitive = Primitive(description);
  described.scratchpad = description.scratchpad_desc();
  return true;
}

dnnl::convolution_forward::primitive_desc forward_of(const Terms& t,
                                                     const dnnl::primitive_attr& attributes) {
  constexpr auto kKind = dnnl::prop_kind::forward_training;
#if DNNL_VERSION_MAJOR >= 3
  return {onednn_engine(), kKind,     kDirect,   t.x,        t.weights,  t.bias, t.y,
          t.strides,       t.padding, t.padding, attributes, kAllowEmpty};
#else
  return {dnnl::convolution_forward::desc(kKind, kDirect, t.x, t.weights, t.bias, t.y, t.strides,
                                          t.padding, t.padding),
          attributes, onednn_engine(), kAllowEmpty};
#endif
}

bool describe_forward(const Terms& t, Described& described) {
  const auto description = forward_of(t, onednn_attributes());
  if (!describe<dnnl::convolution_forward>(description, described)) return false;
  described.weights = description.weights_desc();
  return true;
}

/// A backward pass is described with its forward pass as a hint, which computes in the types of
/// the operands alone.
dnnl::convolution_forward::primitive_desc hint_for(const ConvolutionProblem& problem) {
  ConvolutionProblem forward = problem;
  forward.pass = ConvolutionPass::forward;
  forward.result = problem.operands;
  return forward_of(Terms(forward), {});
}

bool describe_data_gradient(const ConvolutionProblem& problem, const Terms& t,
                            Described& described) {
  const auto hint = hint_for(problem);
  if (!hint) return false;
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::convolution_backward_data::primitive_desc description(
      onednn_engine(), kDirect, t.x, t.weights, t.y, t.strides, t.padding, t.padding, hint,
      onednn_attributes(), kAllowEmpty);
#else
  const dnnl::convolution_backward_data::primitive_desc description(
      dnnl::convolution_backward_data::desc(kDirect, t.x, t.weights, t.y, t.strides, t.padding,
                                            t.padding),
      onednn_attributes(), onednn_engine(), hint, kAllowEmpty);
#endif
  if (!describe<dnnl::convolution_backward_data>(description, described)) return false;
  described.weights = description.weights_desc();
  return true;
}

bool describe_weight_gradient(const ConvolutionProblem& problem, const Terms& t,
                              Described& described) {
  const auto hint = hint_for(problem);
  if (!hint) return false;
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::convolution_backward_weights::primitive_desc description(
      onednn_engine(), kDirect, t.x, t.weights, t.y, t.strides, t.padding, t.padding, hint,
      onednn_attributes(), kAllowEmpty);
#else
  const dnnl::convolution_backward_weights::primitive_desc description(
      dnnl::convolution_backward_weights::desc(kDirect, t.x, t.weights, t.y, t.strides, t.padding,
                                               t.padding),
      onednn_attributes(), onednn_engine(), hint, kAllowEmpty);
#endif
  if (!describe<dnnl::convolution_backward_weights>(description, described)) return false;
  described.weights = description.diff_weights_desc();
  return true;
}

bool describe(const ConvolutionProblem& problem, const Terms& terms, Described& described) {
  described.x = terms.x;
  described.y = terms.y;
  described.bias = terms.bias;
  switch (problem.pass) {
    case ConvolutionPass::forward:
      return describe_forward(terms, described);
    case ConvolutionPass::data_gradient:
      return describe_data_gradient(problem, terms, described);
    case ConvolutionPass::weight_gradient:
      return describe_weight_gradient(problem, terms, described);
  }
  return false;
}

/// What the library calls x, weights and y in each pass.
struct Roles {
  int x, weights, y;
};
constexpr std::array<Roles, 3> kRoles{{
    {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST},
    {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST},
    {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST},
}};

memory memory_of(const memory::desc& description) {
  return memory(description, onednn_engine(), DNNL_MEMORY_NONE);
}

/// Between our layout of the weights and the library's.
class Reorder {
 public:
  Reorder() = default;
  Reorder(const memory::desc& from, const memory::desc& to)
      : from_(memory_of(from)), to_(memory_of(to)) {
    const dnnl::reorder::primitive_desc description(onednn_engine(), from, onednn_engine(), to,
                                                    onednn_attributes());
    scratchpad_ = memory_of(description.scratchpad_desc());
    scratchpad_bytes_ = description.scratchpad_desc().get_size();
    primitive_ = dnnl::reorder(description);
  }

  std::size_t scratchpad_bytes() const { return scratchpad_bytes_; }

  void run(void* from, void* to, void* scratchpad) {
    from_.set_data_handle(from);
    to_.set_data_handle(to);
    scratchpad_.set_data_handle(scratchpad);
    const std::array<dnnl_exec_arg_t, 3> arguments{{{DNNL_ARG_FROM, from_.get()},
                                                    {DNNL_ARG_TO, to_.get()},
                                                    {DNNL_ARG_SCRATCHPAD, scratchpad_.get()}}};
    onednn_execute(primitive_, arguments.data(), static_cast<int>(arguments.size()), "reorder");
  }

 private:
  dnnl::primitive primitive_;
  memory from_, to_, scratchpad_;
  std::size_t scratchpad_bytes_ = 0;
};

/// The primitive with its memory objects, which are only pointed at the operands of each run.
class OnednnConvolution final : public ConvolutionPlan {
 public:
  OnednnConvolution(const ConvolutionProblem& problem, const Terms& terms,
                    const Described& described)
      : pass_(problem.pass),
        has_bias_(problem.bias),
        reorders_(described.weights != terms.own_weights),
        primitive_(described.primitive) {
    const Roles& roles = kRoles[static_cast<std::size_t>(pass_)];
    arguments_ = {{{roles.x, memory_of(described.x)},
                   {roles.weights, memory_of(described.weights)},
                   {roles.y, memory_of(described.y)},
                   {DNNL_ARG_SCRATCHPAD, memory_of(described.scratchpad)},
                   {DNNL_ARG_BIAS, memory_of(described.bias)}}};
    std::size_t scratchpad = described.scratchpad.get_size();
    if (reorders_) {
      constexpr std::size_t kCacheLine = 64;
      weights_bytes_ = (described.weights.get_size() + kCacheLine - 1) / kCacheLine * kCacheLine;
      reorder_ = pass_ == ConvolutionPass::weight_gradient
                     ? Reorder(described.weights, terms.own_weights)
                     : Reorder(terms.own_weights, described.weights);
      scratchpad = std::max(scratchpad, reorder_.scratchpad_bytes());
    }
    workspace_bytes_ = weights_bytes_ + scratchpad;
  }

  std::size_t workspace_bytes() const override { return workspace_bytes_; }

  void run(const ConvolutionOperands& o) override {
    void* const scratchpad = static_cast<std::byte*>(o.workspace) + weights_bytes_;
    void* const weights = reorders_ ? o.workspace : o.weights;
    const bool gradient = pass_ == ConvolutionPass::weight_gradient;
    if (reorders_ && !gradient) reorder_.run(o.weights, weights, scratchpad);
    const std::array<void*, kArguments> data{o.x, weights, o.y, scratchpad, o.bias};
    std::array<dnnl_exec_arg_t, kArguments> arguments{};
    for (std::size_t i = 0; i < kArguments; ++i) {
      arguments_[i].memory.set_data_handle(data[i]);
      arguments[i] = {arguments_[i].index, arguments_[i].memory.get()};
    }
    onednn_execute(primitive_, arguments.data(), static_cast<int>(kArguments) - (has_bias_ ? 0 : 1),
                   "convolution");
    if (reorders_ && gradient) reorder_.run(weights, o.weights, scratchpad);
  }

 private:
  struct Argument {
    int index;
    dnnl::memory memory;
  };
  static constexpr std::size_t kArguments = 5;

  ConvolutionPass pass_;
  bool has_bias_;
  bool reorders_;
  dnnl::primitive primitive_;
  std::array<Argument, kArguments> arguments_;  // the bias, which may be missing, comes last
  Reorder reorder_;
  std::size_t weights_bytes_ = 0;
  std::size_t workspace_bytes_ = 0;
};

/// The weight gradient of a 1x1 kernel that strides, in NHWC: 2.6.3 gathers the pixels in scratch
/// memory, and writes past the end of what it asked for.
bool overruns(const ConvolutionProblem& p) {
  return p.pass == ConvolutionPass::weight_gradient && p.kernel == 1 && p.stride > 1;
}

class OnednnConvolutionProvider final : public ConvolutionProvider {
 public:
  std::string_view name() const override { return "onednn"; }

  std::unique_ptr<ConvolutionPlan> plan(const ConvolutionProblem& problem) const override {
    const bool floats = problem.operands == DType::f32 && problem.result == DType::f32;
    const bool halves = problem.operands == DType::bf16 &&
                        (problem.result == DType::bf16 || problem.result == DType::f32);
    if (!floats && !(halves && multiplies_bf16())) return nullptr;
    if (overruns(problem)) return nullptr;
    const Terms terms(problem);
    Described described;
    if (!describe(problem, terms, described)) return nullptr;
    return std::make_unique<OnednnConvolution>(problem, terms, described);
  }
};

}  // namespace

const ConvolutionProvider& onednn_convolution_provider() {
  static const OnednnConvolutionProvider provider;
  return provider;
}

}  // namespace trainbench
