#pragma once

#include <string>

#include "common/nn/layer.h"
#include "common/nn/parameters.h"

namespace trainbench {

/// Group norm of images, and none or SiLU behind it.
class GroupNorm {
 public:
  /// Weights start at 1, biases at 0.
  GroupNorm(ParameterLayout& layout, const std::string& name, std::int64_t channels,
            const GroupNormOptions& options);

  /// For images of this size.
  void allocate(Backend& backend, const Extent& extent, std::int64_t height, std::int64_t width);

  /// Keeps a view of x for the backward pass.
  Tensor forward(const Pass& pass, const Parameters& parameters, ConstTensor x);
  /// From dy, which is changed where passes are separate, to dx, which may be dy; with `accumulate`
  /// to dx +=, which is not dy.
  void backward(const Pass& pass, const Parameters& parameters, Tensor dy, Tensor dx,
                bool accumulate) const;

 private:
  NormWeights weights(const Parameters& parameters) const {
    return {parameters.weight(gamma_), parameters.weight(beta_)};
  }
  GroupNormOptions options_of(const Pass& pass) const;

  std::int64_t channels_;
  GroupNormOptions options_;
  std::size_t gamma_;
  std::size_t beta_;

  ConstTensor input_;
  Tensor mean_;
  Tensor inverse_;
  Tensor output_;
  Tensor saved_;  // of the activation, where it is a pass of its own
};

}  // namespace trainbench
