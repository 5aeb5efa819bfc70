#include "common/models/unet_blocks.h"

namespace trainbench {
namespace {

constexpr Window kThree{.kernel = 3, .stride = 1, .padding = 1};
constexpr Window kOne{.kernel = 1, .stride = 1, .padding = 0};

GroupNormOptions with_silu(std::int64_t groups) {
  return {.groups = groups, .activation = Activation::silu};
}

/// The extent of a layer that takes each pixel for a sample.
Extent of_pixels(Extent extent, std::int64_t pixels_of_image) {
  extent.batch *= pixels_of_image;
  return extent;
}

}  // namespace

ResidualBlock::ResidualBlock(ParameterLayout& layout, const std::string& name,
                             const BlockSizes& sizes)
    : norm1_(layout, name + ".norm1", sizes.in, with_silu(sizes.groups)),
      conv1_(layout, name + ".conv1", sizes.in, sizes.out, kThree),
      time_(layout, name + ".time", sizes.embedding, sizes.out, Activation::none),
      norm2_(layout, name + ".norm2", sizes.out, with_silu(sizes.groups)),
      conv2_(layout, name + ".conv2", sizes.out, sizes.out, kThree) {
  if (sizes.in != sizes.out) skip_.emplace(layout, name + ".skip", sizes.in, sizes.out, kOne);
}

void ResidualBlock::allocate(Backend& backend, const Extent& extent, std::int64_t height,
                             std::int64_t width) {
  norm1_.allocate(backend, extent, height, width);
  conv1_.allocate(backend, extent, height, width);
  time_.allocate(backend, extent);
  norm2_.allocate(backend, extent, height, width);
  conv2_.allocate(backend, extent, height, width);
  if (skip_) skip_->allocate(backend, extent, height, width);
  time_gradient_ = time_.output_gradient();
}

Tensor ResidualBlock::forward(const Pass& pass, const Parameters& parameters, ConstTensor x,
                              ConstTensor embedding) {
  input_ = x;
  const Tensor bias = time_.forward(pass, parameters, embedding);
  pass.backend.add_bias(bias, conv1_.bias(parameters));
  const Tensor inner = conv1_.forward(pass, parameters, norm1_.forward(pass, parameters, x), bias);
  const Tensor y = conv2_.forward(pass, parameters, norm2_.forward(pass, parameters, inner));
  pass.backend.add(y, skip_ ? ConstTensor(skip_->forward(pass, parameters, x)) : x, y);
  return y;
}

Tensor ResidualBlock::backward(const Pass& pass, const Parameters& parameters,
                               const BlockGradients& g) {
  const Tensor inner = Workbench::view(g.bench.first, g.dy.shape);
  conv2_.parameter_gradients(pass, parameters, g.dy);
  conv2_.data_gradient(pass, parameters, g.dy, inner, false);
  norm2_.backward(pass, parameters, inner, inner, false);

  conv1_.weight_gradient(pass, parameters, inner);
  pass.backend.bias_gradient(pixels(ConstTensor(inner)), time_gradient_);
  pass.backend.bias_gradient(time_gradient_, conv1_.bias_gradient(parameters));
  time_.backward(pass, parameters, time_gradient_, g.embedding, {}, !g.first_embedding);

  const Tensor outer = Workbench::view(g.bench.second, input_.shape);
  conv1_.data_gradient(pass, parameters, inner, outer, false);
  Tensor dx = g.dy;
  if (skip_) {
    dx = g.dx;
    skip_->parameter_gradients(pass, parameters, g.dy);
    skip_->data_gradient(pass, parameters, g.dy, dx, false);
  }
  norm1_.backward(pass, parameters, outer, dx, true);
  return dx;
}

AttentionBlock::AttentionBlock(ParameterLayout& layout, const std::string& name,
                               std::int64_t channels, std::int64_t groups)
    : channels_(channels),
      norm_(layout, name + ".norm", channels, {.groups = groups}),
      qkv_(layout, name + ".qkv", channels, 3 * channels, Activation::none),
      out_(layout, name + ".out", channels, channels, Activation::none) {}

void AttentionBlock::allocate(Backend& backend, const Extent& extent, std::int64_t height,
                              std::int64_t width) {
  const Extent rows = of_pixels(extent, height * width);
  norm_.allocate(backend, extent, height, width);
  qkv_.allocate(backend, rows);
  attention_.emplace(AttentionShape{.steps = height * width, .heads = 1, .columns = channels_});
  attention_->allocate(backend, rows);
  out_.allocate(backend, rows);
}

Tensor AttentionBlock::forward(const Pass& pass, const Parameters& parameters, ConstTensor x) {
  const ConstTensor normal = norm_.forward(pass, parameters, x);
  const Tensor qkv = qkv_.forward(pass, parameters, pixels(normal));
  const Tensor attended = attention_->forward(pass, qkv);
  const Tensor y = out_.forward(pass, parameters, attended).reshaped(x.shape);
  pass.backend.add(x, y, y);
  return y;
}

void AttentionBlock::backward(const Pass& pass, const Parameters& parameters, Tensor dy,
                              const Workbench& bench) {
  const Shape rows = pixels(dy).shape;
  const Tensor inner = Workbench::view(bench.first, rows);
  const Tensor dqkv = Workbench::view(bench.second, Shape{rows[0], 3 * rows[1]});
  out_.backward(pass, parameters, pixels(dy), inner, {});
  attention_->backward(pass, inner, dqkv);
  qkv_.backward(pass, parameters, dqkv, inner, {});
  norm_.backward(pass, parameters, inner.reshaped(dy.shape), dy, true);
}

}  // namespace trainbench
