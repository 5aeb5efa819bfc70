#include "common/nn/convolution.h"

#include <cmath>

namespace trainbench {

Convolution::Convolution(ParameterLayout& layout, const std::string& name, std::int64_t in,
                         std::int64_t out, const Window& window)
    : out_(out), window_(window) {
  const std::int64_t k = window.kernel;
  const auto initial = Initial::uniform(1.0 / std::sqrt(static_cast<double>(k * k * in)));
  weight_ = layout.add(name + ".weight", Shape{out, k, k, in}, initial);
  bias_ = layout.add(name + ".bias", Shape{out}, initial);
}

void Convolution::allocate(Backend& backend, const Extent& extent, std::int64_t height,
                           std::int64_t width) {
  const Shape shape{extent.batch, window_.outputs(height), window_.outputs(width), out_};
  output_ = backend.allocate(shape, extent.compute, MemoryKind::activations);
}

Tensor Convolution::forward(const Pass& pass, const Parameters& parameters, ConstTensor x) {
  return forward(pass, parameters, x, bias(parameters));
}

Tensor Convolution::forward(const Pass& pass, const Parameters& parameters, ConstTensor x,
                            ConstTensor image_bias) {
  input_ = x;
  const ConstTensor weight = parameters.weight(weight_);
  pass.backend.conv2d(window_, x, weight, pass.fused ? image_bias : ConstTensor(), output_,
                      pass.math);
  if (!pass.fused) pass.backend.add_bias(pixels(output_), image_bias);
  return output_;
}

void Convolution::parameter_gradients(const Pass& pass, const Parameters& parameters,
                                      ConstTensor dy) const {
  if (!pass.fused) {
    weight_gradient(pass, parameters, dy);
    pass.backend.bias_gradient(pixels(dy), parameters.gradient(bias_));
    return;
  }
  pass.backend.conv2d_weight_gradient(window_, input_, dy, parameters.gradient(weight_),
                                      parameters.gradient(bias_), pass.math);
}

void Convolution::weight_gradient(const Pass& pass, const Parameters& parameters,
                                  ConstTensor dy) const {
  pass.backend.conv2d_weight_gradient(window_, input_, dy, parameters.gradient(weight_), {},
                                      pass.math);
}

void Convolution::data_gradient(const Pass& pass, const Parameters& parameters, ConstTensor dy,
                                Tensor dx, bool accumulate) const {
  pass.backend.conv2d_data_gradient(window_, dy, parameters.weight(weight_), dx, accumulate,
                                    pass.math);
}

}  // namespace trainbench
