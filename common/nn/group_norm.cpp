#include "common/nn/group_norm.h"

#include "common/nn/convolution.h"

namespace trainbench {

GroupNorm::GroupNorm(ParameterLayout& layout, const std::string& name, std::int64_t channels,
                     const GroupNormOptions& options)
    : channels_(channels), options_(options) {
  gamma_ = layout.add(name + ".weight", Shape{channels}, Initial::constant(1));
  beta_ = layout.add(name + ".bias", Shape{channels}, Initial::constant(0));
}

void GroupNorm::allocate(Backend& backend, const Extent& extent, std::int64_t height,
                         std::int64_t width) {
  const Shape shape{extent.batch, height, width, channels_};
  const Shape statistics{extent.batch, options_.groups};
  mean_ = backend.allocate(statistics, extent.master, MemoryKind::activations);
  inverse_ = backend.allocate(statistics, extent.master, MemoryKind::activations);
  output_ = backend.allocate(shape, extent.compute, MemoryKind::activations);
  if (extent.fused || !extent.training) return;
  saved_ = backend.allocate_saved(options_.activation, extent.batch * height * width, channels_,
                                  extent.compute);
}

GroupNormOptions GroupNorm::options_of(const Pass& pass) const {
  GroupNormOptions options = options_;
  if (!pass.fused) options.activation = Activation::none;
  return options;
}

Tensor GroupNorm::forward(const Pass& pass, const Parameters& parameters, ConstTensor x) {
  input_ = x;
  pass.backend.group_norm(options_of(pass), x, weights(parameters), mean_, inverse_, output_);
  if (!pass.fused && options_.activation != Activation::none) {
    pass.backend.activation_forward(options_.activation, pixels(output_), saved_);
  }
  return output_;
}

void GroupNorm::backward(const Pass& pass, const Parameters& parameters, Tensor dy, Tensor dx,
                         bool accumulate) const {
  if (!pass.fused && options_.activation != Activation::none) {
    pass.backend.activation_backward(options_.activation, saved_, pixels(dy));
  }
  pass.backend.group_norm_backward(options_of(pass), input_, dy, weights(parameters), mean_,
                                   inverse_, accumulate, dx,
                                   {parameters.gradient(gamma_), parameters.gradient(beta_)});
}

}  // namespace trainbench
