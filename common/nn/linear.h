#pragma once

#include <string>

#include "common/nn/layer.h"
#include "common/nn/parameters.h"

namespace trainbench {

/// How a layer's weights and bias start.
struct LinearInitial {
  Initial weight;
  Initial bias;

  /// Both uniform in +-1/sqrt(in).
  static LinearInitial by_inputs(std::int64_t in);
};

/// y[b, out] = activation(x[b, in] W[out, in]^T + bias[out]).
class Linear {
 public:
  Linear(ParameterLayout& layout, const std::string& name, std::int64_t in, std::int64_t out,
         Activation activation, const LinearInitial& initial);
  Linear(ParameterLayout& layout, const std::string& name, std::int64_t in, std::int64_t out,
         Activation activation)
      : Linear(layout, name, in, out, activation, LinearInitial::by_inputs(in)) {}

  /// `output_gradient`, [b, out], is memory that layers share; absent: the layer has its own.
  void allocate(Backend& backend, const Extent& extent, Tensor output_gradient = {});

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
