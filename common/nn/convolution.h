#pragma once

#include <string>

#include "common/nn/layer.h"
#include "common/nn/parameters.h"

namespace trainbench {

/// y[b, oh, ow, out] = x[b, h, w, in] * weights[out, kernel, kernel, in] + bias[out].
class Convolution {
 public:
  /// Weights and bias start uniform in +-1/sqrt(kernel kernel in).
  Convolution(ParameterLayout& layout, const std::string& name, std::int64_t in, std::int64_t out,
              const Window& window);

  /// For images of this size.
  void allocate(Backend& backend, const Extent& extent, std::int64_t height, std::int64_t width);

  /// Keeps a view of x for the backward pass.
  Tensor forward(const Pass& pass, const Parameters& parameters, ConstTensor x);
  /// With image_bias[b, out] in the bias's place.
  Tensor forward(const Pass& pass, const Parameters& parameters, ConstTensor x,
                 ConstTensor image_bias);

  /// From dy to the gradients of weights and bias.
  void parameter_gradients(const Pass& pass, const Parameters& parameters, ConstTensor dy) const;
  /// To that of the weights alone.
  void weight_gradient(const Pass& pass, const Parameters& parameters, ConstTensor dy) const;
  /// dx, or dx += with `accumulate`.
  void data_gradient(const Pass& pass, const Parameters& parameters, ConstTensor dy, Tensor dx,
                     bool accumulate) const;

  ConstTensor bias(const Parameters& parameters) const { return parameters.weight(bias_); }
  Tensor bias_gradient(const Parameters& parameters) const { return parameters.gradient(bias_); }
  Tensor output() const { return output_; }

 private:
  std::int64_t out_;
  Window window_;
  std::size_t weight_;
  std::size_t bias_;

  ConstTensor input_;
  Tensor output_;
};

/// An image's pixels, or those of a batch, as the rows of a matrix.
template <class View>
View pixels(const View& images) {
  const std::int64_t channels = images.shape[images.shape.rank() - 1];
  return images.reshaped(Shape{images.elements() / channels, channels});
}

}  // namespace trainbench
