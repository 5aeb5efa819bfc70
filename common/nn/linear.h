#pragma once

#include <string>

#include "common/nn/layer.h"
#include "common/nn/parameters.h"

namespace trainbench {

/// y[b, out] = activation(x[b, in] W[out, in]^T + bias[out]).
class Linear {
 public:
  /// Weights and bias start uniform in +-1/sqrt(in).
  Linear(ParameterLayout& layout, const std::string& name, std::int64_t in, std::int64_t out,
         Activation activation);

  void allocate(Backend& backend, const Extent& extent);

  /// Keeps a view of x for the backward pass.
  Tensor forward(const Pass& pass, const Parameters& parameters, ConstTensor x);

  /// From dz, the gradient before this layer's activation, to its parameters' gradients and, unless
  /// absent, to dx: the gradient before the activation `below` that made x. With `accumulate` what
  /// dx holds is added first.
  void backward(const Pass& pass, const Parameters& parameters, ConstTensor dz, Tensor dx,
                const SavedActivation& below, bool accumulate = false);

  Tensor output() const { return output_; }
  /// Where the gradient before this layer's activation belongs: [b, out].
  Tensor output_gradient() const { return output_gradient_; }
  SavedActivation saved() const { return {activation_, saved_}; }

 private:
  std::int64_t out_;
  Activation activation_;
  std::size_t weight_;
  std::size_t bias_;

  ConstTensor input_;
  Tensor output_;
  Tensor output_gradient_;
  Tensor saved_;
};

}  // namespace trainbench
