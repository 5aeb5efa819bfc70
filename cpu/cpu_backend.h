#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/backend.h"
#include "cpu/arena.h"
#include "cpu/convolution_router.h"
#include "cpu/matmul_router.h"

namespace trainbench {

struct CpuOptions {
  int threads = 0;  ///< 0: the physical cores that this process may use
  /// Of matmul and convolution: eigen, blas, onednn; auto: the fastest per shape. For comparison:
  /// naive, openmp.
  std::string provider = "auto";
};

/// Throws InputError for a provider that is unknown or not in this build.
std::unique_ptr<Backend> make_cpu_backend(const CpuOptions& options);

/// The operations on host memory, each spread over a fixed number of OpenMP threads. Calls return
/// when the work is done.
class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(const CpuOptions& options);

  Tensor allocate(Shape shape, DType dtype, MemoryKind kind) override;
  MemoryUse memory() const override { return arena_.memory(); }
  Tensor allocate_saved(Activation activation, std::int64_t m, std::int64_t n,
                        DType dtype) override;
  std::unique_ptr<BatchChannel> make_channel(std::size_t slot_bytes, int slots) override;
  void copy_from_host(Tensor to, const void* from) override;
  void copy_to_host(void* to, ConstTensor from) override;
  void copy(ConstTensor from, Tensor to) override;
  void fill_zero(Tensor tensor) override;

  void synchronize() override {}
  std::unique_ptr<Recording> record(const std::function<void()>& work) override;
  std::unique_ptr<DeviceTimer> make_timer() override;
  std::unique_ptr<Probes> make_probes() override;
  std::vector<Served> served() const override;
  void require_precision(const Precision& precision) const override;

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

  void upsample(ConstTensor x, Tensor y) override;
  void upsample_backward(ConstTensor dy, Tensor dx) override;
  void concat(ConstTensor a, ConstTensor b, Tensor y) override;
  void split(ConstTensor y, Tensor a, Tensor b) override;

  void group_norm(const GroupNormOptions& options, ConstTensor x, const NormWeights& weights,
                  Tensor mean, Tensor inverse, Tensor y) override;
  void group_norm_backward(const GroupNormOptions& options, ConstTensor x, ConstTensor dy,
                           const NormWeights& weights, ConstTensor mean, ConstTensor inverse,
                           bool accumulate, Tensor dx, const NormGradients& gradients) override;

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

 private:
  int threads_;
  Arena arena_;
  MatmulRouter router_;
  ConvolutionRouter convolutions_;
};

}  // namespace trainbench
