#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/core/precision.h"
#include "common/core/tensor.h"
#include "common/memory.h"
#include "common/operations.h"

namespace trainbench {

class Probes;

/// Which library or kernel served an operation: {"matmul 256x2048x784 NT f32", "onednn"}.
struct Served {
  std::string operation;
  std::string provider;
};

/// Work that was recorded once and can be repeated without describing it again.
class Recording {
 public:
  virtual ~Recording() = default;
  virtual void replay() = 0;
  /// Kernels that a replay launches; 0 where the device does not count them.
  virtual std::int64_t launches() const { return 0; }
};

/// Device time between two marks in the order of the compute stream.
class DeviceTimer {
 public:
  virtual ~DeviceTimer() = default;
  virtual void start() = 0;
  virtual void stop() = 0;
  /// Seconds from start to stop; waits until stop has been reached.
  virtual double seconds() = 0;
};

/// Fixed slots through which bytes travel from host to device while the device computes. One thread
/// fills and sends, another receives and releases; each slot goes host -> send -> receive ->
/// release -> host. Where the device reads host memory itself nothing is copied.
class BatchChannel {
 public:
  virtual ~BatchChannel() = default;
  /// Host bytes of the slot; waits until an earlier copy out of them has finished.
  virtual std::byte* host(int slot) = 0;
  /// Starts the copy to the device once the slot's last user has released it.
  virtual void send(int slot) = 0;
  /// Device bytes of the slot; compute work enqueued from now on sees what was sent.
  virtual Tensor receive(int slot) = 0;
  /// Compute work enqueued so far was the last to read the slot.
  virtual void release(int slot) = 0;
};

/// What a device must offer to train: memory, copies and operations. Operations are asynchronous:
/// they run in the order of the calls, and only synchronize(), copy_to_host() and
/// DeviceTimer::seconds() wait. An object serves one case on one device and owns its memory.
///
/// Shapes are named by their letters: m rows, n columns, k summed over, b samples, c classes or
/// channels, h x w pixels, f filters, t steps of a sequence, v entries of a vocabulary. Operands of
/// one operation have the compute dtype unless said otherwise; a `float` result is f64 where the
/// operands are. An operation that a device lacks throws Unsupported, as those defined here do.
///
/// "Results" below are overwritten; they may not overlap an operand unless said otherwise.
class Backend {
 public:
  virtual ~Backend() = default;

  // ---- Memory ------------------------------------------------------------------------------

  /// New memory, owned by the backend until it is destroyed; contents are undefined.
  virtual Tensor allocate(Shape shape, DType dtype, MemoryKind kind) = 0;
  virtual MemoryUse memory() const = 0;
  /// Memory for what an activation on [m, n] leaves for its backward pass; absent for `none`.
  virtual Tensor allocate_saved(Activation activation, std::int64_t m, std::int64_t n,
                                DType dtype) = 0;
  virtual std::unique_ptr<BatchChannel> make_channel(std::size_t slot_bytes, int slots) = 0;

  virtual void copy_from_host(Tensor to, const void* from) = 0;  ///< `from` may be reused at once
  virtual void copy_to_host(void* to, ConstTensor from) = 0;     ///< waits
  virtual void copy(ConstTensor from, Tensor to) = 0;            ///< same shape and dtype
  virtual void fill_zero(Tensor tensor) = 0;

  // ---- Execution ---------------------------------------------------------------------------

  /// Waits for all work; throws DeviceError if any of it failed.
  virtual void synchronize() = 0;
  /// Records what `work` enqueues; only replay() executes it. The same work has run once before, so
  /// that libraries have made their choices; nothing in it allocates or waits. `work` may be called
  /// again by each replay and stays valid as long as the recording.
  virtual std::unique_ptr<Recording> record(const std::function<void()>& work) = 0;
  virtual std::unique_ptr<DeviceTimer> make_timer() = 0;
  /// Kernels that no model needs, in the order of this backend's own; it outlives them.
  virtual std::unique_ptr<Probes> make_probes();
  /// What served each distinct operation so far.
  virtual std::vector<Served> served() const = 0;
  /// Throws Unsupported with the reason where the device cannot compute in this precision.
  virtual void require_precision(const Precision& precision) const = 0;

  // ---- Conversion --------------------------------------------------------------------------

  virtual void cast(ConstTensor from, Tensor to) = 0;  ///< round to nearest even
  /// to = from * scale + shift, from bytes.
  virtual void normalize_bytes(ConstTensor from, Tensor to, float scale, float shift) = 0;

  // ---- Matmul ------------------------------------------------------------------------------

  /// C[m, n] = epilogue(op(A)[m, k] op(B)[k, n]). A, B: compute dtype; C: that or the master
  /// dtype; bias and bias gradient: C's dtype. Sums in the master dtype.
  virtual void matmul(const MatmulForm& form, ConstTensor a, ConstTensor b, Tensor c,
                      const MatmulEpilogue& epilogue = {}) = 0;

  // ---- Elementwise: the separate passes of a matmul's epilogue -------------------------------

  /// x[m, n] += bias[n]; or bias[g, n], each row of which belongs to m / g consecutive rows of x.
  virtual void add_bias(Tensor x, ConstTensor bias) = 0;
  /// In place on x[m, n]; `saved` may be absent where no backward pass follows.
  virtual void activation_forward(Activation activation, Tensor x, Tensor saved) = 0;
  /// In place: dx[m, n] *= activation'(the x that was saved).
  virtual void activation_backward(Activation activation, ConstTensor saved, Tensor dx) = 0;
  /// db[n] = column sums of dy[m, n], or db[g, n] = those of each m / g consecutive rows; db in the
  /// master or the compute dtype.
  virtual void bias_gradient(ConstTensor dy, Tensor db) = 0;

  /// y = a + b; y may be either of them. Any floating-point dtype.
  virtual void add(ConstTensor a, ConstTensor b, Tensor y);
  /// In place; the same call on a gradient is the backward pass, which `state` has not moved since.
  virtual void dropout(const DropoutOptions& options, Tensor x, ConstTensor state);

  // ---- Convolution and pooling ---------------------------------------------------------------

  /// y[b, oh, ow, f] = x[b, h, w, c] * weights[f, kernel, kernel, c] + bias[f], or bias[b, f] for
  /// one of its own an image; absent: none.
  virtual void conv2d(const Window& window, ConstTensor x, ConstTensor weights, ConstTensor bias,
                      Tensor y, MathMode math);
  /// dx, from dy and the weights. With `accumulate`, dx += it.
  virtual void conv2d_data_gradient(const Window& window, ConstTensor dy, ConstTensor weights,
                                    Tensor dx, bool accumulate, MathMode math);
  /// dw, in the master dtype; and, unless absent, db[f] = sums of dy over all pixels.
  virtual void conv2d_weight_gradient(const Window& window, ConstTensor x, ConstTensor dy,
                                      Tensor dw, Tensor db, MathMode math);
  /// y = the window's largest x; `chosen` (u8, y's shape) = its place in the window, row-major,
  /// the first of equals; absent where no backward pass follows.
  virtual void max_pool(const Window& window, ConstTensor x, Tensor y, Tensor chosen);
  virtual void max_pool_backward(const Window& window, ConstTensor chosen, ConstTensor dy,
                                 Tensor dx);
  /// y[b, c] = means of x[b, h, w, c] over the pixels.
  virtual void average_pool(ConstTensor x, Tensor y);
  virtual void average_pool_backward(ConstTensor dy, Tensor dx);
  /// y[b, 2h, 2w, c] repeats each pixel of x[b, h, w, c] twice in both directions.
  virtual void upsample(ConstTensor x, Tensor y);
  virtual void upsample_backward(ConstTensor dy, Tensor dx);
  /// y[m, n + k] = rows of a[m, n], each followed by that of b[m, k].
  virtual void concat(ConstTensor a, ConstTensor b, Tensor y);
  /// The reverse.
  virtual void split(ConstTensor y, Tensor a, Tensor b);

  // ---- Norms -------------------------------------------------------------------------------

  /// Over the m rows of x[m, c], which is [b, h, w, c] for images. `residual` as x, or absent.
  virtual void batch_norm(const BatchNormOptions& options, ConstTensor x,
                          const NormWeights& weights, ConstTensor residual,
                          const BatchNormState& state, Tensor y);
  /// The same with the running statistics in the batch's place, which change nothing.
  virtual void batch_norm_evaluate(const BatchNormOptions& options, ConstTensor x,
                                   const NormWeights& weights, ConstTensor residual,
                                   const BatchNormState& state, Tensor y);
  /// From dy, and y where there was an activation, to dx, the weights' gradients and, unless
  /// absent, dresidual. dx may be dy, and so may dresidual, but not both.
  virtual void batch_norm_backward(const BatchNormOptions& options, ConstTensor x, ConstTensor y,
                                   ConstTensor dy, ConstTensor gamma, const BatchNormState& state,
                                   Tensor dx, Tensor dresidual, const NormGradients& gradients);
  /// y = the normalised rows of x[m, n] (Ba, Kiros and Hinton, arXiv 1607.06450), times gamma plus
  /// beta; first x += residual unless absent. mean[m], inverse[m] in the master dtype are kept for
  /// the backward pass.
  virtual void layer_norm(double epsilon, Tensor x, ConstTensor residual,
                          const NormWeights& weights, Tensor mean, Tensor inverse, Tensor y);
  /// dx = the gradient through the norm, plus `dresidual` unless absent, which dx may be.
  virtual void layer_norm_backward(ConstTensor x, ConstTensor dy, ConstTensor gamma,
                                   ConstTensor mean, ConstTensor inverse, ConstTensor dresidual,
                                   Tensor dx, const NormGradients& gradients);
  /// On x[b, h, w, c]; mean[b, groups], inverse[b, groups] in the master dtype.
  virtual void group_norm(const GroupNormOptions& options, ConstTensor x,
                          const NormWeights& weights, Tensor mean, Tensor inverse, Tensor y);
  /// dx may be dy. With `accumulate`, dx += it, and dx is not dy.
  virtual void group_norm_backward(const GroupNormOptions& options, ConstTensor x, ConstTensor dy,
                                   const NormWeights& weights, ConstTensor mean,
                                   ConstTensor inverse, bool accumulate, Tensor dx,
                                   const NormGradients& gradients);

  // ---- Sequences ---------------------------------------------------------------------------

  /// inputs = from[b, t + 1] without its last, targets = without its first column, both i32, as
  /// [b, t] or, with `time_major`, [t, b]. `from` is u8 or i32.
  virtual void shift_tokens(ConstTensor from, bool time_major, Tensor inputs, Tensor targets);
  /// y[m, n] = table[indices[m]], plus positions[row % t] unless absent (positions [t, n]). The row
  /// of an index outside the table is NaN, and has no part in the gradient.
  virtual void embedding(ConstTensor indices, ConstTensor table, ConstTensor positions, Tensor y);
  /// dtable[v, n] (+= with `accumulate`) and, unless absent, dpositions[t, n], in the master dtype,
  /// summed in a fixed order.
  virtual void embedding_backward(ConstTensor indices, ConstTensor dy, bool accumulate,
                                  Tensor dtable, Tensor dpositions);
  /// y[b, t, n] from qkv[b, t, 3n], a row of which holds q, k and v, each with all heads side by
  /// side; logsum[b, heads, t] in the master dtype is kept for the backward pass. Holds no t x t
  /// matrix (Dao, Fu, Ermon, Rudra and Re, NeurIPS 2022).
  virtual void attention(const AttentionOptions& options, ConstTensor qkv, Tensor y, Tensor logsum,
                         MathMode math);
  /// dqkv from dy and what the forward pass read and left.
  virtual void attention_backward(const AttentionOptions& options, ConstTensor qkv, ConstTensor y,
                                  ConstTensor logsum, ConstTensor dy, Tensor dqkv, MathMode math);
  /// The separate passes of attention: products of many small matrices, and the softmax between.
  virtual void matmul_batched(const MatmulForm& form, const MatmulBatch& batch,
                              const ConstMatrices& a, const ConstMatrices& b, const Matrices& c);
  /// In place: softmax(scale x) of each row of x[m, t, t]; with `causal`, of its first row + 1
  /// entries, the rest zero.
  virtual void softmax(double scale, bool causal, Tensor x);
  /// In place: dx = scale y (dy - sum of y dy over the row).
  virtual void softmax_backward(double scale, ConstTensor y, Tensor dy);
  /// All steps from state zero: step t's gates are inputs[t, b, 4h] + hidden[t - 1] weights[4h,
  /// h]^T. `inputs` holds the bias already, and may be trace.gates.
  virtual void lstm(ConstTensor inputs, ConstTensor weights, const LstmTrace& trace, MathMode math);
  /// From dhidden[t, b, h], which is changed, to dgates[t, b, 4h]: the gradient of `inputs`.
  virtual void lstm_backward(ConstTensor weights, const LstmTrace& trace, Tensor dhidden,
                             Tensor dgates, MathMode math);
  /// The separate passes of an LSTM, one step each: on gates[b, 4h] in place, cells[b, h] and
  /// previous[b, h] (absent: zero) in the master dtype, to hidden[b, h].
  virtual void lstm_cell(Tensor gates, ConstTensor previous, Tensor cells, Tensor hidden);
  /// dgates from dhidden[b, h] and dcells[b, h], which becomes that of `previous`; master dtype.
  virtual void lstm_cell_backward(ConstTensor gates, ConstTensor previous, ConstTensor cells,
                                  ConstTensor dhidden, Tensor dcells, Tensor dgates);

  // ---- Loss --------------------------------------------------------------------------------

  /// losses[b] = log sum exp(logits[b]) - logits[b][labels[b]], float; and, unless absent,
  /// gradient[b, c] = (softmax(logits) - onehot(labels)) * loss_scale / b. Labels are i32. A label
  /// outside [0, c) gives a NaN loss.
  virtual void softmax_cross_entropy(ConstTensor logits, ConstTensor labels, Tensor losses,
                                     Tensor gradient, ConstTensor state) = 0;
  /// losses[b] = means over a sample of (prediction - target)^2, float; and, unless absent,
  /// gradient = 2 (prediction - target) * loss_scale / elements. prediction, target, gradient: one
  /// shape.
  virtual void mean_squared_error(ConstTensor prediction, ConstTensor target, Tensor losses,
                                  Tensor gradient, ConstTensor state);
  /// A diffusion model's batch from bytes[b, h, w, c]: x = byte scale + shift; times[b] (i32) and
  /// noise = normal[half word] from the step's streams (RandomSource); noisy = signal[times] x +
  /// noise[times] noise.
  virtual void diffuse(ConstTensor bytes, float scale, float shift, const DiffusionTables& tables,
                       ConstTensor state, Tensor noisy, Tensor noise, Tensor times);
  /// mean[1] of values[b], both float; summed in a fixed order.
  virtual void mean(ConstTensor values, Tensor mean) = 0;

  // ---- Optimizer ---------------------------------------------------------------------------

  /// state.nonfinite = 1 if any gradient is Inf or NaN; else left as it is.
  virtual void check_finite(ConstTensor gradients, Tensor state) = 0;
  /// state.clip_factor = min(1, max_norm / norm), norm being that of the gradients
  /// times gradient_scale / loss_scale;
  /// state.nonfinite = 1 where it is Inf or NaN. Summed in a fixed order.
  virtual void clip_gradients(ConstTensor gradients, double max_norm, Tensor state);
  /// Both updates read rate, scale, clip factor and step from `state` and do nothing where
  /// nonfinite is set.
  virtual void sgd(const SgdOptions& options, const ParameterUpdate& update, Tensor velocity,
                   ConstTensor state) = 0;
  virtual void adamw(const AdamOptions& options, const ParameterUpdate& update, Tensor first_moment,
                     Tensor second_moment, ConstTensor state) = 0;
  /// Ends a step: counts it or, after a non-finite gradient, the skip; moves the loss scale; clears
  /// nonfinite.
  virtual void finish_step(const LossScaling& scaling, Tensor state) = 0;
};

/// Rows of x[m, n] for each row of per_group[n] or [g, n], whose groups are consecutive rows.
std::int64_t rows_of_group(const ConstTensor& x, const ConstTensor& per_group);

/// Allocates the device's StepState and sets it.
Tensor allocate_step_state(Backend& backend, const StepState& initial);
/// Reads it back; waits.
StepState read_step_state(Backend& backend, ConstTensor state);

}  // namespace trainbench
