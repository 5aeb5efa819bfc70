#pragma once

#include <vector>

#include "common/models/model.h"
#include "common/models/noise_schedule.h"
#include "common/models/unet_blocks.h"

namespace trainbench {

struct Workload;

/// Noise predictor of a denoising diffusion model (Ho, Jain and Abbeel, NeurIPS 2020) on square
/// images: a U-Net of three levels with one, two and four times `width` channels and two residual
/// blocks each, the lowest ones with attention between. The batch's images are mixed with noise in
/// the forward pass; the loss is the squared error of the noise.
class Diffusion : public Model {
 public:
  /// Sizes: "image" (a multiple of 4), "channels" of an image, "width", "groups", "steps".
  Diffusion(const Workload& workload, const ModelSizes& sizes);

  const ParameterLayout& layout() const override { return layout_; }
  void allocate(Backend& backend, const Extent& extent) override;
  void forward(const Pass& pass, const Parameters& parameters, const Batch& batch) override;
  void loss(const Pass& pass, const Batch& batch, ConstTensor state) override;
  void backward(const Pass& pass, const Parameters& parameters) override;

  /// The predicted noise.
  Tensor logits() const override { return conv_out_.output(); }
  Tensor losses() const override { return losses_; }
  /// The images of the last batch, mixed with noise, and their times.
  Tensor noisy() const { return noisy_; }
  Tensor times() const { return times_; }

 private:
  struct Sizes {
    std::int64_t image, channels, width, groups, steps;
    std::int64_t embedding() const { return 4 * width; }
  };
  static Sizes read(const Workload& workload, const ModelSizes& asked);
  Diffusion(const Workload& workload, const Sizes& sizes);

  /// A level above the lowest: its way down to the next one, and up from it.
  struct Level {
    ResidualBlock down1;
    ResidualBlock down2;
    Convolution halve;
    ResidualBlock up1;
    ResidualBlock up2;

    Tensor kept{};  ///< what the way down leaves for the way up
    Tensor kept_gradient{};
    Tensor upsampled{};
    Tensor joined{};
  };
  Level make_level(const Sizes& sizes, int index);
  void allocate_level(Backend& backend, const Extent& extent, std::size_t index);

  ParameterLayout layout_;
  Sizes sizes_;
  float input_scale_;
  float input_shift_;
  NoiseSchedule schedule_;

  Linear time1_;
  Linear time2_;
  Convolution conv_in_;
  std::vector<Level> levels_;
  ResidualBlock middle1_;
  AttentionBlock attention_;
  ResidualBlock middle2_;
  GroupNorm norm_out_;
  Convolution conv_out_;

  Tensor noisy_;
  Tensor noise_;
  Tensor times_;
  Tensor step_features_;  // [b, width]
  Tensor losses_;

  Tensor prediction_gradient_;
  Tensor embedding_gradient_;
  // Flat memory: of the activation that the backward pass has reached, and its neighbours.
  Tensor gradient_;
  Tensor other_;
  Workbench bench_;
};

}  // namespace trainbench
