#pragma once

#include "common/nn/layer.h"

namespace trainbench {

/// Sequences and heads of an attention.
struct AttentionShape {
  std::int64_t steps = 0;
  std::int64_t heads = 1;
  std::int64_t columns = 0;  ///< of all heads together
  bool causal = false;
};

/// y[b t, n] = softmax(q k^T / sqrt(width of a head)) v in each head, from qkv[b t, 3n]. Fused, no
/// t x t matrix is kept; by separate passes one a head is.
class Attention {
 public:
  explicit Attention(const AttentionShape& shape);

  /// extent.batch counts rows: b t.
  void allocate(Backend& backend, const Extent& extent);

  /// Keeps a view of qkv for the backward pass.
  Tensor forward(const Pass& pass, ConstTensor qkv);
  void backward(const Pass& pass, ConstTensor dy, Tensor dqkv);

 private:
  /// One of q, k and v (0, 1, 2) in a tensor like qkv, as [t, width] matrices.
  template <class View>
  BasicMatrices<View> part(const View& qkv, std::int64_t index) const;
  template <class View>
  BasicMatrices<View> heads_of(const View& rows) const;
  template <class View>
  BasicMatrices<View> squares(const View& weights) const;

  void forward_by_passes(const Pass& pass) const;
  void backward_by_passes(const Pass& pass, ConstTensor dy, Tensor dqkv) const;

  AttentionShape shape_;
  AttentionOptions options_;
  std::int64_t width_;
  std::int64_t samples_ = 0;

  ConstTensor qkv_;
  Tensor output_;
  Tensor logsum_;
  Tensor weights_;           // [b heads, t, t]; separate passes only
  Tensor weights_gradient_;  // likewise
};

}  // namespace trainbench
