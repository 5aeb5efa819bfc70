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

namespace trainbench {

/// Elementwise nonlinearities. GELU is the tanh form (Hendrycks and Gimpel, arXiv 1606.08415).
enum class Activation : std::uint8_t { none, relu, gelu };

/// Scalars that a step reads and writes in device memory, so that a recorded step can be replayed
/// while they change. Lives in a u8 tensor of sizeof(StepState) bytes.
struct StepState {
  float learning_rate = 0;
  float loss_scale = 1;            ///< factor on the loss gradient; the optimizer divides by it
  std::int32_t step = 0;           ///< updates applied so far
  std::int32_t clean_steps = 0;    ///< updates since the loss scale last changed
  std::int32_t nonfinite = 0;      ///< 1: this step's gradients hold an Inf or NaN; no update
  std::int32_t skipped_steps = 0;  ///< updates left out because of that
};

/// How the loss scale moves where it is enabled: halved after a non-finite gradient, doubled after
/// `growth_interval` clean steps unless that overflows. Clean steps are counted either way.
/// Micikevicius et al., "Mixed precision training", ICLR 2018; the constants are those of PyTorch's
/// GradScaler.
struct LossScaling {
  bool enabled = false;
  float initial = 65536.0f;
  float growth = 2.0f;
  float backoff = 0.5f;
  std::int32_t growth_interval = 2000;
};

/// The product's form: C = op(A) op(B), or C += op(A) op(B).
struct MatmulForm {
  bool transpose_a = false;
  bool transpose_b = false;
  bool accumulate = false;
  MathMode math = MathMode::exact;
};

/// What is done to the product on its way to memory; absent tensors and `none` mean "nothing".
struct MatmulEpilogue {
  ConstTensor bias;                           ///< [n], added to every row
  Activation activation = Activation::none;   ///< then applied
  Tensor saved;                               ///< out: what activation_backward needs of it
  Activation gradient_of = Activation::none;  ///< or: multiply by this activation's derivative,
  ConstTensor gradient_saved;                 ///< saved when that activation ran on [m, n]
  Tensor bias_gradient;                       ///< out, [m]: sums of the rows of op(A)
};

/// One range of the flat parameter buffers, as an optimizer sees it. All have the same elements.
struct ParameterUpdate {
  Tensor master;         ///< weights in the master dtype
  Tensor weights;        ///< their copy in the compute dtype; absent where layers read the master
  ConstTensor gradient;  ///< in the master dtype, times the loss scale
};

/// v = momentum v + (g + decay w);  w -= rate v.
struct SgdOptions {
  double momentum = 0.9;
  double weight_decay = 0;
};

/// Decoupled weight decay (Loshchilov and Hutter, ICLR 2019); Adam is its case without decay.
struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
};

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
/// Shapes are named by their letters: m rows, n columns, k summed over, b samples, c classes.
/// Operands of one operation have the compute dtype unless said otherwise; a `float` result is f64
/// where the operands are. An operation that a device lacks throws Unsupported.
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

  virtual void add_bias(Tensor x, ConstTensor bias) = 0;  ///< x[m, n] += bias[n]
  /// In place on x[m, n]; `saved` may be absent where no backward pass follows.
  virtual void activation_forward(Activation activation, Tensor x, Tensor saved) = 0;
  /// In place: dx[m, n] *= activation'(the x that was saved).
  virtual void activation_backward(Activation activation, ConstTensor saved, Tensor dx) = 0;
  /// db[n] = column sums of dy[m, n]; db in the master dtype.
  virtual void bias_gradient(ConstTensor dy, Tensor db) = 0;

  // ---- Loss --------------------------------------------------------------------------------

  /// losses[b] = log sum exp(logits[b]) - logits[b][labels[b]], float; and, unless absent,
  /// gradient[b, c] = (softmax(logits) - onehot(labels)) * loss_scale / b. Labels are i32. A label
  /// outside [0, c) gives a NaN loss.
  virtual void softmax_cross_entropy(ConstTensor logits, ConstTensor labels, Tensor losses,
                                     Tensor gradient, ConstTensor state) = 0;
  /// mean[1] of values[b], both float; summed in a fixed order.
  virtual void mean(ConstTensor values, Tensor mean) = 0;

  // ---- Optimizer ---------------------------------------------------------------------------

  /// state.nonfinite = 1 if any gradient is Inf or NaN; else left as it is.
  virtual void check_finite(ConstTensor gradients, Tensor state) = 0;
  /// Both updates read rate, scale and step from `state` and do nothing where nonfinite is set.
  virtual void sgd(const SgdOptions& options, const ParameterUpdate& update, Tensor velocity,
                   ConstTensor state) = 0;
  virtual void adamw(const AdamOptions& options, const ParameterUpdate& update, Tensor first_moment,
                     Tensor second_moment, ConstTensor state) = 0;
  /// Ends a step: counts it or, after a non-finite gradient, the skip; moves the loss scale; clears
  /// nonfinite.
  virtual void finish_step(const LossScaling& scaling, Tensor state) = 0;
};

/// Allocates the device's StepState and sets it.
Tensor allocate_step_state(Backend& backend, const StepState& initial);
/// Reads it back; waits.
StepState read_step_state(Backend& backend, ConstTensor state);

}  // namespace trainbench
