#include "common/nn/conv_norm.h"

#include <cmath>

#include "common/host_values.h"

namespace trainbench {
namespace {

/// Images' pixels as the rows of a matrix.
Tensor as_rows(const Tensor& images) {
  const std::int64_t channels = images.shape[3];
  return images.reshaped(Shape{images.elements() / channels, channels});
}

}  // namespace

ConvNorm::ConvNorm(ParameterLayout& layout, const std::string& name, std::int64_t in,
                   std::int64_t out, const Window& window, Activation activation)
    : out_(out), window_(window), activation_(activation) {
  const std::int64_t k = window.kernel;
  const double deviation = std::sqrt(2.0 / static_cast<double>(k * k * out));
  weight_ = layout.add(name + ".weight", Shape{out, k, k, in}, Initial::normal(deviation));
  gamma_ = layout.add(name + ".gamma", Shape{out}, Initial::constant(1));
  beta_ = layout.add(name + ".beta", Shape{out}, Initial::constant(0));
}

void ConvNorm::allocate(Backend& backend, const Extent& extent, std::int64_t height,
                        std::int64_t width) {
  const Shape shape{extent.batch, window_.outputs(height), window_.outputs(width), out_};
  convolved_ = backend.allocate(shape, extent.compute, MemoryKind::activations);
  output_ = backend.allocate(shape, extent.compute, MemoryKind::activations);
  if (extent.training && !extent.fused) {
    saved_ = backend.allocate_saved(activation_, as_rows(output_).shape[0], out_, extent.compute);
  }
  const auto statistic = [&] {
    return backend.allocate(Shape{out_}, extent.master, MemoryKind::activations);
  };
  state_ = {statistic(), statistic(), statistic(), statistic()};
  backend.fill_zero(state_.running_mean);
  write_values(backend, state_.running_variance,
               std::vector<double>(static_cast<std::size_t>(out_), 1.0));
}

Tensor ConvNorm::forward(const Pass& pass, const Parameters& parameters, ConstTensor x,
                         ConstTensor residual) {
  input_ = x;
  pass.backend.conv2d(window_, x, parameters.weight(weight_), {}, convolved_, pass.math);
  norm_forward(pass, parameters, residual);
  return output_;
}

void ConvNorm::norm_forward(const Pass& pass, const Parameters& parameters, ConstTensor residual) {
  const NormWeights weights{parameters.weight(gamma_), parameters.weight(beta_)};
  const auto norm = [&](const BatchNormOptions& options, ConstTensor added) {
    if (pass.training) {
      pass.backend.batch_norm(options, convolved_, weights, added, state_, output_);
    } else {
      pass.backend.batch_norm_evaluate(options, convolved_, weights, added, state_, output_);
    }
  };
  if (pass.fused) {
    norm({.activation = activation_}, residual);
    return;
  }
  norm({}, {});
  if (!residual.absent()) pass.backend.add(output_, residual, output_);
  if (activation_ != Activation::none) {
    pass.backend.activation_forward(activation_, as_rows(output_), saved_);
  }
}

void ConvNorm::norm_backward(const Pass& pass, const Parameters& parameters, Tensor dy,
                             Tensor dresidual) const {
  const ConstTensor gamma = parameters.weight(gamma_);
  const NormGradients gradients{parameters.gradient(gamma_), parameters.gradient(beta_)};
  if (pass.fused) {
    pass.backend.batch_norm_backward({.activation = activation_}, convolved_, output_, dy, gamma,
                                     state_, dy, dresidual, gradients);
    return;
  }
  if (activation_ != Activation::none) {
    pass.backend.activation_backward(activation_, saved_, as_rows(dy));
  }
  if (!dresidual.absent()) pass.backend.copy(dy, dresidual);
  pass.backend.batch_norm_backward({}, convolved_, {}, dy, gamma, state_, dy, {}, gradients);
}

void ConvNorm::backward(const Pass& pass, const Parameters& parameters, Tensor dy, Tensor dresidual,
                        Tensor dx, bool accumulate) const {
  norm_backward(pass, parameters, dy, dresidual);
  pass.backend.conv2d_weight_gradient(window_, input_, dy, parameters.gradient(weight_), {},
                                      pass.math);
  if (dx.absent()) return;
  pass.backend.conv2d_data_gradient(window_, dy, parameters.weight(weight_), dx, accumulate,
                                    pass.math);
}

}  // namespace trainbench
