#pragma once

#include <optional>
#include <string>

#include "common/nn/attention.h"
#include "common/nn/convolution.h"
#include "common/nn/group_norm.h"
#include "common/nn/linear.h"

namespace trainbench {

/// Flat memory that the blocks' backward passes share, and views of its beginning.
struct Workbench {
  Tensor first;
  Tensor second;

  static Tensor view(const Tensor& flat, const Shape& shape) {
    return flat.range(0, shape.elements()).reshaped(shape);
  }
};

/// What a block's backward pass reads and where it leaves the gradients.
struct BlockGradients {
  Tensor dy;  ///< becomes dx where the block keeps the number of channels
  Tensor dx;  ///< where dx goes otherwise
  Workbench bench;
  Tensor embedding;      ///< of the time embedding, added up over the blocks
  bool first_embedding;  ///< true for the first of them
};

struct BlockSizes {
  std::int64_t in;
  std::int64_t out;
  std::int64_t embedding;
  std::int64_t groups;
};

/// x + conv(silu(norm(conv(silu(norm(x))) + linear(time embedding)))), where a 1x1 convolution
/// brings x to the other number of channels. The time's part and the first convolution's bias are
/// one bias an image.
class ResidualBlock {
 public:
  ResidualBlock(ParameterLayout& layout, const std::string& name, const BlockSizes& sizes);

  void allocate(Backend& backend, const Extent& extent, std::int64_t height, std::int64_t width);
  /// `embedding` is [b, embedding].
  Tensor forward(const Pass& pass, const Parameters& parameters, ConstTensor x,
                 ConstTensor embedding);
  /// Returns dx.
  Tensor backward(const Pass& pass, const Parameters& parameters, const BlockGradients& g);

 private:
  GroupNorm norm1_;
  Convolution conv1_;
  Linear time_;
  GroupNorm norm2_;
  Convolution conv2_;
  std::optional<Convolution> skip_;

  ConstTensor input_;
  Tensor time_gradient_;  // [b, out], of the bias of each image
};

/// x + out(attention(qkv(norm(x)))) over an image's pixels, with one head; the products are 1x1
/// convolutions.
class AttentionBlock {
 public:
  AttentionBlock(ParameterLayout& layout, const std::string& name, std::int64_t channels,
                 std::int64_t groups);

  void allocate(Backend& backend, const Extent& extent, std::int64_t height, std::int64_t width);
  Tensor forward(const Pass& pass, const Parameters& parameters, ConstTensor x);
  /// dy becomes dx.
  void backward(const Pass& pass, const Parameters& parameters, Tensor dy, const Workbench& bench);

 private:
  std::int64_t channels_;
  GroupNorm norm_;
  Linear qkv_;
  std::optional<Attention> attention_;  // of images of the size that memory was allocated for
  Linear out_;
};

}  // namespace trainbench
