#include "common/nn/attention.h"

#include <cmath>

namespace trainbench {

Attention::Attention(const AttentionShape& shape)
    : shape_(shape), options_{shape.heads, shape.causal, 0}, width_(shape.columns / shape.heads) {
  require(shape.columns % shape.heads == 0, "heads have equal widths");
  options_.scale = 1 / std::sqrt(static_cast<double>(width_));
}

void Attention::allocate(Backend& backend, const Extent& extent) {
  samples_ = extent.batch / shape_.steps;
  output_ = backend.allocate(Shape{extent.batch, shape_.columns}, extent.compute,
                             MemoryKind::activations);
  if (extent.fused) {
    logsum_ = backend.allocate(Shape{samples_, shape_.heads, shape_.steps}, extent.master,
                               MemoryKind::activations);
    return;
  }
  const Shape squares{samples_ * shape_.heads, shape_.steps, shape_.steps};
  weights_ = backend.allocate(squares, extent.compute, MemoryKind::activations);
  if (extent.training) {
    weights_gradient_ = backend.allocate(squares, extent.compute, MemoryKind::activations);
  }
}

Tensor Attention::forward(const Pass& pass, ConstTensor qkv) {
  qkv_ = qkv.reshaped(Shape{samples_, shape_.steps, 3 * shape_.columns});
  if (pass.fused) {
    pass.backend.attention(options_, qkv_, output_, logsum_, pass.math);
  } else {
    forward_by_passes(pass);
  }
  return output_;
}

void Attention::backward(const Pass& pass, ConstTensor dy, Tensor dqkv) {
  if (pass.fused) {
    pass.backend.attention_backward(options_, qkv_, output_, logsum_, dy, dqkv.reshaped(qkv_.shape),
                                    pass.math);
  } else {
    backward_by_passes(pass, dy, dqkv);
  }
}

template <class View>
BasicMatrices<View> Attention::part(const View& qkv, std::int64_t index) const {
  const std::int64_t row = 3 * shape_.columns;
  return {qkv, index * shape_.columns, row, shape_.steps * row, width_};
}

template <class View>
BasicMatrices<View> Attention::heads_of(const View& rows) const {
  return {rows, 0, shape_.columns, shape_.steps * shape_.columns, width_};
}

template <class View>
BasicMatrices<View> Attention::squares(const View& weights) const {
  const std::int64_t square = shape_.steps * shape_.steps;
  return {weights, 0, shape_.steps, shape_.heads * square, square};
}

void Attention::forward_by_passes(const Pass& pass) const {
  const std::int64_t t = shape_.steps;
  const MatmulBatch to_squares{t, t, width_, samples_, shape_.heads};
  const MatmulBatch to_rows{t, width_, t, samples_, shape_.heads};
  pass.backend.matmul_batched({.transpose_b = true, .math = pass.math}, to_squares, part(qkv_, 0),
                              part(qkv_, 1), squares(weights_));
  pass.backend.softmax(options_.scale, options_.causal, weights_);
  pass.backend.matmul_batched({.math = pass.math}, to_rows, squares(ConstTensor(weights_)),
                              part(qkv_, 2), heads_of(output_));
}

void Attention::backward_by_passes(const Pass& pass, ConstTensor dy, Tensor dqkv) const {
  const std::int64_t t = shape_.steps;
  const MatmulBatch to_squares{t, t, width_, samples_, shape_.heads};
  const MatmulBatch to_rows{t, width_, t, samples_, shape_.heads};
  const MatmulForm plain{.math = pass.math};
  const MatmulForm transposed{.transpose_a = true, .math = pass.math};
  pass.backend.matmul_batched({.transpose_b = true, .math = pass.math}, to_squares, heads_of(dy),
                              part(qkv_, 2), squares(weights_gradient_));
  pass.backend.matmul_batched(transposed, to_rows, squares(ConstTensor(weights_)), heads_of(dy),
                              part(dqkv, 2));
  pass.backend.softmax_backward(options_.scale, weights_, weights_gradient_);
  const auto dscores = squares(ConstTensor(weights_gradient_));
  pass.backend.matmul_batched(plain, to_rows, dscores, part(qkv_, 1), part(dqkv, 0));
  pass.backend.matmul_batched(transposed, to_rows, dscores, part(qkv_, 0), part(dqkv, 1));
}

}  // namespace trainbench
