#pragma once

#include <vector>

#include "common/models/model.h"
#include "common/nn/linear.h"
#include "common/nn/resnet_block.h"

namespace trainbench {

struct Workload;

/// What tells the family's members apart.
struct ResnetDesign {
  ResnetBlock::Kind block;
  std::size_t stages;  ///< each after the first halves the image and doubles the width
  Window stem;         ///< of the first convolution
  bool pool;           ///< a 3x3 maximum of stride 2 after it
};

/// A residual network for classification of images (He, Zhang, Ren and Sun, CVPR 2016): a stem,
/// stages of blocks, the mean over the pixels, a linear classifier.
class Resnet : public Model {
 public:
  /// Sizes: "image" (height and width), "channels", "width" (of the first stage), "blocks1" and so
  /// on (in each stage), "classes".
  Resnet(const ResnetDesign& design, const Workload& workload, const ModelSizes& sizes);

  const ParameterLayout& layout() const override { return layout_; }
  void allocate(Backend& backend, const Extent& extent) override;
  void forward(const Pass& pass, const Parameters& parameters, const Batch& batch) override;
  void loss(const Pass& pass, const Batch& batch, ConstTensor state) override;
  void backward(const Pass& pass, const Parameters& parameters) override;

  Tensor logits() const override { return classifier_->output(); }
  Tensor losses() const override { return losses_; }

 private:
  /// The tensor that the stages read, and which the stem made.
  Tensor stem_output() const { return pool_ ? pooled_ : stem_->output(); }

  ParameterLayout layout_;
  std::optional<ConvNorm> stem_;
  std::vector<ResnetBlock> blocks_;
  std::optional<Linear> classifier_;
  bool pool_;
  std::int64_t image_;
  std::int64_t channels_;
  float input_scale_;
  float input_shift_;

  Tensor input_;
  Tensor pooled_;
  Tensor chosen_;
  Tensor means_;
  Tensor mean_gradient_;
  Tensor losses_;
  GradientBuffers buffers_;
};

/// For 32 x 32 images: 3 stages of 3 basic blocks, 16, 32 and 64 wide; 20 layers.
inline constexpr ResnetDesign kResnet20{ResnetBlock::Kind::basic, 3, {3, 1, 1}, false};
/// For 224 x 224 images: 4 stages of 3, 4, 6 and 3 bottlenecks; 50 layers.
inline constexpr ResnetDesign kResnet50{ResnetBlock::Kind::bottleneck, 4, {7, 2, 3}, true};

}  // namespace trainbench
