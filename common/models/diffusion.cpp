#include "common/models/diffusion.h"

#include <utility>

#include "common/models/workload.h"

namespace trainbench {
namespace {

constexpr Window kThree{.kernel = 3, .stride = 1, .padding = 1};
constexpr Window kHalving{.kernel = 3, .stride = 2, .padding = 1};
constexpr int kUpperLevels = 2;

}  // namespace

Diffusion::Sizes Diffusion::read(const Workload& workload, const ModelSizes& asked) {
  const SizeReader reader(workload, asked);
  const Sizes sizes{reader.get("image", 1024), reader.get("channels", 1024),
                    reader.get("width", 4096), reader.get("groups"), reader.get("steps")};
  const auto refuse = [](const std::string& name, std::int64_t value, const std::string& right) {
    throw InputError("size \"" + name + "\" of diffusion is " + std::to_string(value) +
                     "; it must be " + right);
  };
  if (sizes.image % 4 != 0) refuse("image", sizes.image, "a multiple of 4: it is halved twice");
  if (sizes.width % 2 != 0) refuse("width", sizes.width, "even: half of it are sines of the time");
  if (sizes.width % sizes.groups != 0) {
    refuse("groups", sizes.groups, "a divisor of width, " + std::to_string(sizes.width));
  }
  return sizes;
}

Diffusion::Diffusion(const Workload& workload, const ModelSizes& sizes)
    : Diffusion(workload, read(workload, sizes)) {}

Diffusion::Diffusion(const Workload& workload, const Sizes& sizes)
    : sizes_(sizes),
      input_scale_(workload.input_scale),
      input_shift_(workload.input_shift),
      schedule_(sizes.steps, sizes.width),
      time1_(layout_, "time1", sizes.width, sizes.embedding(), Activation::silu),
      time2_(layout_, "time2", sizes.embedding(), sizes.embedding(), Activation::silu),
      conv_in_(layout_, "conv_in", sizes.channels, sizes.width, kThree),
      levels_{make_level(sizes, 0), make_level(sizes, 1)},
      middle1_(layout_, "middle1",
               {2 * sizes.width, 4 * sizes.width, sizes.embedding(), sizes.groups}),
      attention_(layout_, "attention", 4 * sizes.width, sizes.groups),
      middle2_(layout_, "middle2",
               {4 * sizes.width, 4 * sizes.width, sizes.embedding(), sizes.groups}),
      norm_out_(layout_, "norm_out", sizes.width,
                {.groups = sizes.groups, .activation = Activation::silu}),
      conv_out_(layout_, "conv_out", sizes.width, sizes.channels, kThree) {}

Diffusion::Level Diffusion::make_level(const Sizes& sizes, int index) {
  const std::int64_t above = index == 0 ? sizes.width : sizes.width << (index - 1);
  const std::int64_t own = sizes.width << index;
  const std::int64_t below = sizes.width << (index + 1);
  const std::string name = "level" + std::to_string(index);
  const auto block = [&](const char* part, std::int64_t in) {
    return ResidualBlock(layout_, name + part, {in, own, sizes.embedding(), sizes.groups});
  };
  // A braced list is evaluated in its order: so the parameters lie.
  return {block(".down1", above), block(".down2", own),
          Convolution(layout_, name + ".halve", own, own, kHalving), block(".up1", below + own),
          block(".up2", own)};
}

void Diffusion::allocate_level(Backend& backend, const Extent& extent, std::size_t index) {
  Level& level = levels_[index];
  const std::int64_t size = sizes_.image >> index;
  const std::int64_t own = sizes_.width << index;
  const auto tensor = [&](std::int64_t channels) {
    return backend.allocate(Shape{extent.batch, size, size, channels}, extent.compute,
                            MemoryKind::activations);
  };
  level.down1.allocate(backend, extent, size, size);
  level.down2.allocate(backend, extent, size, size);
  level.halve.allocate(backend, extent, size, size);
  level.upsampled = tensor(2 * own);
  level.joined = tensor(3 * own);
  level.up1.allocate(backend, extent, size, size);
  level.up2.allocate(backend, extent, size, size);
  if (extent.training) level.kept_gradient = tensor(own);
}

void Diffusion::allocate(Backend& backend, const Extent& extent) {
  schedule_.allocate(backend, extent.compute);
  const auto activations = [&](Shape shape, DType dtype) {
    return backend.allocate(shape, dtype, MemoryKind::activations);
  };
  const Shape images{extent.batch, sizes_.image, sizes_.image, sizes_.channels};
  noisy_ = activations(images, extent.compute);
  noise_ = activations(images, extent.compute);
  times_ = activations(Shape{extent.batch}, DType::i32);
  step_features_ = activations(Shape{extent.batch, sizes_.width}, extent.compute);
  losses_ = activations(Shape{extent.batch}, extent.master);

  time1_.allocate(backend, extent);
  time2_.allocate(backend, extent);
  conv_in_.allocate(backend, extent, sizes_.image, sizes_.image);
  for (std::size_t index = 0; index < levels_.size(); ++index) {
    allocate_level(backend, extent, index);
  }
  const std::int64_t lowest = sizes_.image >> kUpperLevels;
  middle1_.allocate(backend, extent, lowest, lowest);
  attention_.allocate(backend, extent, lowest, lowest);
  middle2_.allocate(backend, extent, lowest, lowest);
  norm_out_.allocate(backend, extent, sizes_.image, sizes_.image);
  conv_out_.allocate(backend, extent, sizes_.image, sizes_.image);
  if (!extent.training) return;

  prediction_gradient_ = activations(images, extent.compute);
  embedding_gradient_ = time2_.output_gradient();
  // The joined channels of the first level are the largest of all.
  const Shape largest{extent.batch * sizes_.image * sizes_.image * 3 * sizes_.width};
  for (Tensor* flat : {&gradient_, &other_, &bench_.first, &bench_.second}) {
    *flat = activations(largest, extent.compute);
  }
}

void Diffusion::forward(const Pass& pass, const Parameters& parameters, const Batch& batch) {
  Backend& backend = pass.backend;
  backend.diffuse(batch.samples, input_scale_, input_shift_, schedule_.tables(), pass.state, noisy_,
                  noise_, times_);
  backend.embedding(times_, schedule_.step_features(), {}, step_features_);
  const Tensor hidden = time1_.forward(pass, parameters, step_features_);
  const Tensor embedding = time2_.forward(pass, parameters, hidden);

  Tensor x = conv_in_.forward(pass, parameters, noisy_);
  for (Level& level : levels_) {
    x = level.down1.forward(pass, parameters, x, embedding);
    level.kept = level.down2.forward(pass, parameters, x, embedding);
    x = level.halve.forward(pass, parameters, level.kept);
  }
  x = middle1_.forward(pass, parameters, x, embedding);
  x = attention_.forward(pass, parameters, x);
  x = middle2_.forward(pass, parameters, x, embedding);
  for (std::size_t index = levels_.size(); index-- > 0;) {
    Level& level = levels_[index];
    backend.upsample(x, level.upsampled);
    backend.concat(level.upsampled, level.kept, level.joined);
    x = level.up1.forward(pass, parameters, level.joined, embedding);
    x = level.up2.forward(pass, parameters, x, embedding);
  }
  conv_out_.forward(pass, parameters, norm_out_.forward(pass, parameters, x));
}

void Diffusion::loss(const Pass& pass, const Batch&, ConstTensor state) {
  if (pass.fused) {
    pass.backend.mean_squared_error(logits(), noise_, losses_, prediction_gradient_, state);
    return;
  }
  pass.backend.mean_squared_error(logits(), noise_, losses_, {}, state);
  if (!prediction_gradient_.absent()) {
    pass.backend.mean_squared_error(logits(), noise_, {}, prediction_gradient_, state);
  }
}

void Diffusion::backward(const Pass& pass, const Parameters& parameters) {
  Backend& backend = pass.backend;
  bool first_embedding = true;
  // From dy to dx, of shape `below`, by way of a block.
  const auto through = [&](ResidualBlock& block, const Tensor& dy, const Shape& below) {
    const Tensor dx = block.backward(pass, parameters,
                                     {.dy = dy,
                                      .dx = Workbench::view(other_, below),
                                      .bench = bench_,
                                      .embedding = embedding_gradient_,
                                      .first_embedding = first_embedding});
    first_embedding = false;
    if (dx.data == other_.data) std::swap(gradient_, other_);
    return dx;
  };

  conv_out_.parameter_gradients(pass, parameters, prediction_gradient_);
  Tensor dy = Workbench::view(gradient_, levels_.front().kept.shape);
  conv_out_.data_gradient(pass, parameters, prediction_gradient_, dy, false);
  norm_out_.backward(pass, parameters, dy, dy, false);
  for (Level& level : levels_) {
    dy = through(level.up2, dy, dy.shape);
    dy = through(level.up1, dy, level.joined.shape);
    const Tensor upsampled = Workbench::view(bench_.first, level.upsampled.shape);
    backend.split(dy, upsampled, level.kept_gradient);
    const Shape& small = level.halve.output().shape;
    dy = Workbench::view(gradient_, Shape{small[0], small[1], small[2], 2 * small[3]});
    backend.upsample_backward(upsampled, dy);
  }
  dy = through(middle2_, dy, dy.shape);
  attention_.backward(pass, parameters, dy, bench_);
  dy = through(middle1_, dy, levels_.back().halve.output().shape);
  for (std::size_t index = levels_.size(); index-- > 0;) {
    Level& level = levels_[index];
    level.halve.parameter_gradients(pass, parameters, dy);
    level.halve.data_gradient(pass, parameters, dy, level.kept_gradient, true);
    dy = through(level.down2, level.kept_gradient, level.kept.shape);
    const Shape& above =
        index == 0 ? conv_in_.output().shape : levels_[index - 1].halve.output().shape;
    dy = through(level.down1, dy, above);
  }
  conv_in_.parameter_gradients(pass, parameters, dy);

  const SavedActivation hidden = time1_.saved();
  backend.activation_backward(Activation::silu, time2_.saved().saved, embedding_gradient_);
  time2_.backward(pass, parameters, embedding_gradient_, time1_.output_gradient(), hidden);
  time1_.backward(pass, parameters, time1_.output_gradient(), {}, {});
}

}  // namespace trainbench
