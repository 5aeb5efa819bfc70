#pragma once

#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/nn/conv_norm.h"

namespace trainbench {

/// Three flat buffers that the gradients of activations pass through on their way down, each as
/// large as the largest of them. What a block hands to the one below lies in the first.
class GradientBuffers {
 public:
  /// For tensors of up to so many elements.
  void allocate(Backend& backend, std::int64_t elements, DType dtype);

  /// One of the three as a tensor of that shape.
  Tensor view(std::size_t place, const Shape& shape) const;
  void swap(std::size_t a, std::size_t b) { std::swap(buffers_[a], buffers_[b]); }

 private:
  std::array<Tensor, 3> buffers_;
};

/// y = relu(units(x) + shortcut(x)), where the last unit's ReLU is applied to the sum (He, Zhang,
/// Ren and Sun, "Deep residual learning for image recognition", CVPR 2016). The shortcut is the
/// identity, or a 1x1 convolution with a norm where the shape changes.
class ResnetBlock {
 public:
  enum class Kind {
    basic,       ///< two 3x3 convolutions, the first of which strides
    bottleneck,  ///< 1x1, 3x3 and 1x1 convolutions to four times the width; the 3x3 strides (v1.5)
  };

  ResnetBlock(ParameterLayout& layout, const std::string& name, Kind kind, std::int64_t in,
              std::int64_t width, std::int64_t stride);

  void allocate(Backend& backend, const Extent& extent, std::int64_t height, std::int64_t width);

  /// Keeps a view of x for the backward pass.
  Tensor forward(const Pass& pass, const Parameters& parameters, ConstTensor x);

  /// From the output's gradient in the first buffer to that of x, in the first buffer.
  void backward(const Pass& pass, const Parameters& parameters, GradientBuffers& buffers) const;

  Tensor output() const { return units_.back().output(); }
  /// Of the largest tensor whose gradient passes the buffers.
  std::int64_t largest() const;

 private:
  std::vector<ConvNorm> units_;
  std::optional<ConvNorm> projection_;
  ConstTensor input_;
};

}  // namespace trainbench
