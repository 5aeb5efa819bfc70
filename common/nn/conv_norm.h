#pragma once

#include <string>

#include "common/nn/layer.h"
#include "common/nn/parameters.h"

namespace trainbench {

/// y = activation(norm(x * weights) + residual): a convolution without bias, a batch norm, and what
/// follows it in a residual network.
class ConvNorm {
 public:
  /// The weights start normal with variance 2 / (kernel kernel out) (He, Zhang, Ren and Sun, ICCV
  /// 2015), the norm as the identity. `activation`: none or relu.
  ConvNorm(ParameterLayout& layout, const std::string& name, std::int64_t in, std::int64_t out,
           const Window& window, Activation activation);

  /// For images of this size.
  void allocate(Backend& backend, const Extent& extent, std::int64_t height, std::int64_t width);

  /// Keeps a view of x for the backward pass. `residual` has the output's shape, or is absent.
  Tensor forward(const Pass& pass, const Parameters& parameters, ConstTensor x,
                 ConstTensor residual = {});

  /// From dy, which is changed, to the parameters' gradients; to dresidual, that of `residual`; and
  /// to dx, or dx += with `accumulate`. Absent ones are left out.
  void backward(const Pass& pass, const Parameters& parameters, Tensor dy, Tensor dresidual,
                Tensor dx, bool accumulate = false) const;

  Tensor output() const { return output_; }
  std::int64_t height() const { return output_.shape[1]; }
  std::int64_t width() const { return output_.shape[2]; }
  std::int64_t channels() const { return out_; }

 private:
  void norm_forward(const Pass& pass, const Parameters& parameters, ConstTensor residual);
  void norm_backward(const Pass& pass, const Parameters& parameters, Tensor dy,
                     Tensor dresidual) const;

  std::int64_t out_;
  Window window_;
  Activation activation_;
  std::size_t weight_;
  std::size_t gamma_;
  std::size_t beta_;

  ConstTensor input_;
  Tensor convolved_;
  Tensor output_;
  Tensor saved_;  // of the activation as a pass of its own
  BatchNormState state_;
};

}  // namespace trainbench
