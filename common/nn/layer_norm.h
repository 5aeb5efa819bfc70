#pragma once

#include <string>

#include "common/nn/layer.h"
#include "common/nn/parameters.h"

namespace trainbench {

/// y[m, n] = layer norm of the rows of x + residual, with a weight (1 at the start) and a bias (0)
/// for each column; epsilon is PyTorch's 1e-5.
class LayerNorm {
 public:
  LayerNorm(ParameterLayout& layout, const std::string& name, std::int64_t columns);

  void allocate(Backend& backend, const Extent& extent);

  /// x += residual unless absent; keeps a view of x, which must stay, for the backward pass.
  Tensor forward(const Pass& pass, const Parameters& parameters, Tensor x, ConstTensor residual);

  /// dx = the gradient through the norm, plus `dresidual` unless absent, which dx may be. Separate
  /// passes need `scratch` like dx; fused ones leave it alone.
  void backward(const Pass& pass, const Parameters& parameters, ConstTensor dy,
                ConstTensor dresidual, Tensor dx, Tensor scratch);

 private:
  std::int64_t columns_;
  std::size_t gamma_;
  std::size_t beta_;

  ConstTensor input_;
  Tensor output_;
  Tensor mean_;
  Tensor inverse_;
};

}  // namespace trainbench
