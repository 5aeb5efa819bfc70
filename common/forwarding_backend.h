#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "common/backend.h"
#include "common/probes.h"

namespace trainbench {

/// Passes every call on to another backend. One that watches or breaks operations derives from it.
class ForwardingBackend : public Backend {
 public:
  explicit ForwardingBackend(Backend& inner) : inner_(inner) {}

  Tensor allocate(Shape shape, DType dtype, MemoryKind kind) override {
    return inner_.allocate(shape, dtype, kind);
  }
  MemoryUse memory() const override { return inner_.memory(); }
  Tensor allocate_saved(Activation activation, std::int64_t m, std::int64_t n,
                        DType dtype) override {
    return inner_.allocate_saved(activation, m, n, dtype);
  }
  std::unique_ptr<BatchChannel> make_channel(std::size_t slot_bytes, int slots) override {
    return inner_.make_channel(slot_bytes, slots);
  }
  void copy_from_host(Tensor to, const void* from) override { inner_.copy_from_host(to, from); }
  void copy_to_host(void* to, ConstTensor from) override { inner_.copy_to_host(to, from); }
  void copy(ConstTensor from, Tensor to) override;
  void fill_zero(Tensor tensor) override;
  void synchronize() override { inner_.synchronize(); }
  std::unique_ptr<Recording> record(const std::function<void()>& work) override {
    return inner_.record(work);
  }
  std::unique_ptr<DeviceTimer> make_timer() override { return inner_.make_timer(); }
  std::unique_ptr<Probes> make_probes() override { return inner_.make_probes(); }
  std::vector<Served> served() const override { return inner_.served(); }
  void require_precision(const Precision& precision) const override {
    inner_.require_precision(precision);
  }
  void cast(ConstTensor from, Tensor to) override;
  void normalize_bytes(ConstTensor from, Tensor to, float scale, float shift) override;
  void matmul(const MatmulForm& form, ConstTensor a, ConstTensor b, Tensor c,
              const MatmulEpilogue& epilogue) override;
  void add_bias(Tensor x, ConstTensor bias) override;
  void activation_forward(Activation activation, Tensor x, Tensor saved) override;
  void activation_backward(Activation activation, ConstTensor saved, Tensor dx) override;
  void bias_gradient(ConstTensor dy, Tensor db) override;
  void add(ConstTensor a, ConstTensor b, Tensor y) override;
  void dropout(const DropoutOptions& options, Tensor x, ConstTensor state) override;
  void conv2d(const Window& window, ConstTensor x, ConstTensor weights, ConstTensor bias, Tensor y,
              MathMode math) override;
  void conv2d_data_gradient(const Window& window, ConstTensor dy, ConstTensor weights, Tensor dx,
                            bool accumulate, MathMode math) override;
  void conv2d_weight_gradient(const Window& window, ConstTensor x, ConstTensor dy, Tensor dw,
                              Tensor db, MathMode math) override;
  void max_pool(const Window& window, ConstTensor x, Tensor y, Tensor chosen) override;
  void max_pool_backward(const Window& window, ConstTensor chosen, ConstTensor dy,
                         Tensor dx) override;
  void average_pool(ConstTensor x, Tensor y) override;
  void average_pool_backward(ConstTensor dy, Tensor dx) override;
  void upsample(ConstTensor x, Tensor y) override;
  void upsample_backward(ConstTensor dy, Tensor dx) override;
  void concat(ConstTensor a, ConstTensor b, Tensor y) override;
  void split(ConstTensor y, Tensor a, Tensor b) override;
  void batch_norm(const BatchNormOptions& options, ConstTensor x, const NormWeights& weights,
                  ConstTensor residual, const BatchNormState& state, Tensor y) override;
  void batch_norm_evaluate(const BatchNormOptions& options, ConstTensor x,
                           const NormWeights& weights, ConstTensor residual,
                           const BatchNormState& state, Tensor y) override;
  void batch_norm_backward(const BatchNormOptions& options, ConstTensor x, ConstTensor y,
                           ConstTensor dy, ConstTensor gamma, const BatchNormState& state,
                           Tensor dx, Tensor dresidual, const NormGradients& gradients) override;
  void layer_norm(double epsilon, Tensor x, ConstTensor residual, const NormWeights& weights,
                  Tensor mean, Tensor inverse, Tensor y) override;
  void layer_norm_backward(ConstTensor x, ConstTensor dy, ConstTensor gamma, ConstTensor mean,
                           ConstTensor inverse, ConstTensor dresidual, Tensor dx,
                           const NormGradients& gradients) override;
  void group_norm(const GroupNormOptions& options, ConstTensor x, const NormWeights& weights,
                  Tensor mean, Tensor inverse, Tensor y) override;
  void group_norm_backward(const GroupNormOptions& options, ConstTensor x, ConstTensor dy,
                           const NormWeights& weights, ConstTensor mean, ConstTensor inverse,
                           bool accumulate, Tensor dx, const NormGradients& gradients) override;
  void shift_tokens(ConstTensor from, bool time_major, Tensor inputs, Tensor targets) override;
  void embedding(ConstTensor indices, ConstTensor table, ConstTensor positions, Tensor y) override;
  void embedding_backward(ConstTensor indices, ConstTensor dy, bool accumulate, Tensor dtable,
                          Tensor dpositions) override;
  void attention(const AttentionOptions& options, ConstTensor qkv, Tensor y, Tensor logsum,
                 MathMode math) override;
  void attention_backward(const AttentionOptions& options, ConstTensor qkv, ConstTensor y,
                          ConstTensor logsum, ConstTensor dy, Tensor dqkv, MathMode math) override;
  void matmul_batched(const MatmulForm& form, const MatmulBatch& batch, const ConstMatrices& a,
                      const ConstMatrices& b, const Matrices& c) override;
  void softmax(double scale, bool causal, Tensor x) override;
  void softmax_backward(double scale, ConstTensor y, Tensor dy) override;
  void lstm(ConstTensor inputs, ConstTensor weights, const LstmTrace& trace,
            MathMode math) override;
  void lstm_backward(ConstTensor weights, const LstmTrace& trace, Tensor dhidden, Tensor dgates,
                     MathMode math) override;
  void lstm_cell(Tensor gates, ConstTensor previous, Tensor cells, Tensor hidden) override;
  void lstm_cell_backward(ConstTensor gates, ConstTensor previous, ConstTensor cells,
                          ConstTensor dhidden, Tensor dcells, Tensor dgates) override;
  void softmax_cross_entropy(ConstTensor logits, ConstTensor labels, Tensor losses, Tensor gradient,
                             ConstTensor state) override;
  void mean_squared_error(ConstTensor prediction, ConstTensor target, Tensor losses,
                          Tensor gradient, ConstTensor state) override;
  void diffuse(ConstTensor bytes, float scale, float shift, const DiffusionTables& tables,
               ConstTensor state, Tensor noisy, Tensor noise, Tensor times) override;
  void mean(ConstTensor values, Tensor mean) override;
  void check_finite(ConstTensor gradients, Tensor state) override;
  void clip_gradients(ConstTensor gradients, double max_norm, Tensor state) override;
  void sgd(const SgdOptions& options, const ParameterUpdate& update, Tensor velocity,
           ConstTensor state) override;
  void adamw(const AdamOptions& options, const ParameterUpdate& update, Tensor first_moment,
             Tensor second_moment, ConstTensor state) override;
  void finish_step(const LossScaling& scaling, Tensor state) override;

 protected:
  /// Each operation comes through here as what it does to a backend.
  virtual void call(const std::function<void(Backend&)>& operation) { operation(inner_); }

  Backend& inner_;
};

}  // namespace trainbench
