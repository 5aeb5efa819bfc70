#include "gpu/cuda_backend.h"

#include <algorithm>
#include <utility>

#include "gpu/channel.h"
#include "gpu/cuda_backend_impl.h"
#include "gpu/runtime/event.h"
#include "gpu/runtime/graph.h"

namespace trainbench {
namespace gpu {
namespace {

/// What NVIDIA recommends as cuBLASLt's workspace on Hopper; our own reductions share it.
constexpr std::size_t kScratchBytes = std::size_t{32} << 20;

class CudaTimer final : public DeviceTimer {
 public:
  explicit CudaTimer(const Stream& stream) : stream_(stream) {}

  void start() override { start_.record(stream_); }
  void stop() override { stop_.record(stream_); }
  double seconds() override {
    stop_.synchronize();
    return stop_.seconds_since(start_);
  }

 private:
  const Stream& stream_;
  Event start_{Event::Use::timing};
  Event stop_{Event::Use::timing};
};

class CudaRecording final : public Recording {
 public:
  CudaRecording(GraphExec graph, const Stream& stream)
      : graph_(std::move(graph)), stream_(stream) {}

  void replay() override { graph_.launch(stream_); }
  std::int64_t launches() const override { return graph_.kernels(); }

 private:
  GraphExec graph_;
  const Stream& stream_;
};

/// Makes the device current for the members that follow it.
CudaDevice opened(const CudaDevice& device, int index) {
  TRAINBENCH_CUDA(cudaSetDevice(index));
  return device;
}

}  // namespace

CudaBackend::CudaBackend(const CudaDevice& device, int index, MatmulProvider provider)
    : device_(opened(device, index)), index_(index), matmul_(provider) {
  constexpr std::int64_t kCounterBytes = Queue::kCounters * sizeof(unsigned);
  const Tensor memory = allocate(Shape{static_cast<std::int64_t>(kScratchBytes) + kCounterBytes},
                                 DType::u8, MemoryKind::workspace);
  const Tensor counters = memory.range(static_cast<std::int64_t>(kScratchBytes), kCounterBytes);
  fill_zero(counters);
  queue_ = {.stream = compute_.get(),
            .units = device_.info.units,
            .scratch = memory.data,
            .scratch_bytes = kScratchBytes,
            .counters = static_cast<unsigned*>(counters.data)};
}

CudaBackend::~CudaBackend() {
  // Work still in flight reads the buffers that go now. Its errors were for synchronize() to tell.
  static_cast<void>(cudaSetDevice(index_));
  static_cast<void>(cudaStreamSynchronize(copies_.get()));
  static_cast<void>(cudaStreamSynchronize(compute_.get()));
}

// ---- Memory
// --------------------------------------------------------------------------------------

Tensor CudaBackend::allocate(Shape shape, DType dtype, MemoryKind kind) {
  Tensor tensor(nullptr, shape, dtype);
  TRAINBENCH_CUDA(cudaSetDevice(index_));
  buffers_.emplace_back(tensor.bytes());
  tensor.data = buffers_.back().data();
  memory_[kind] += tensor.bytes();
  ++memory_.allocations;
  return tensor;
}

Tensor CudaBackend::allocate_saved(Activation activation, std::int64_t m, std::int64_t n,
                                   DType dtype) {
  if (activation == Activation::none) return {};
  if (activation == Activation::relu) matmul_.probe_relu_mask(queue_, dtype);
  const Tensor saved = allocate(saved_shape(activation, m, n), saved_dtype(activation, dtype),
                                MemoryKind::activations);
  fill_zero(saved);  // the padding of its rows, which operations pass over and copies do not
  return saved;
}

std::unique_ptr<BatchChannel> CudaBackend::make_channel(std::size_t slot_bytes, int slots) {
  std::vector<Tensor> device_slots;
  for (int slot = 0; slot < slots; ++slot) {
    device_slots.push_back(
        allocate(Shape{static_cast<std::int64_t>(slot_bytes)}, DType::u8, MemoryKind::workspace));
  }
  return std::make_unique<CudaChannel>(index_, compute_, copies_, std::move(device_slots));
}

void CudaBackend::copy_from_host(Tensor to, const void* from) {
  TRAINBENCH_CUDA(
      cudaMemcpyAsync(to.data, from, to.bytes(), cudaMemcpyHostToDevice, compute_.get()));
  // Where `from` is pinned the copy would read it later.
  compute_.synchronize();
}

void CudaBackend::copy_to_host(void* to, ConstTensor from) {
  TRAINBENCH_CUDA(
      cudaMemcpyAsync(to, from.data, from.bytes(), cudaMemcpyDeviceToHost, compute_.get()));
  compute_.synchronize();
}

void CudaBackend::copy(ConstTensor from, Tensor to) {
  require(from.shape == to.shape && from.dtype == to.dtype, "a copy keeps shape and dtype");
  TRAINBENCH_CUDA(
      cudaMemcpyAsync(to.data, from.data, to.bytes(), cudaMemcpyDeviceToDevice, compute_.get()));
}

void CudaBackend::fill_zero(Tensor tensor) {
  TRAINBENCH_CUDA(cudaMemsetAsync(tensor.data, 0, tensor.bytes(), compute_.get()));
}

// ---- Execution
// -----------------------------------------------------------------------------------

void CudaBackend::synchronize() {
  copies_.synchronize();
  compute_.synchronize();
}

std::unique_ptr<Recording> CudaBackend::record(const std::function<void()>& work) {
  TRAINBENCH_CUDA(cudaSetDevice(index_));
  return std::make_unique<CudaRecording>(GraphExec::capture(compute_, work), compute_);
}

std::unique_ptr<DeviceTimer> CudaBackend::make_timer() {
  TRAINBENCH_CUDA(cudaSetDevice(index_));
  return std::make_unique<CudaTimer>(compute_);
}

std::vector<Served> CudaBackend::served() const {
  std::vector<Served> all = matmul_.served();
  for (const auto& [operation, dtype] : own_operations_) {
    all.push_back({std::string(operation) + " " + std::string(name_of(dtype)), "own kernel"});
  }
  for (const std::string& operation : own_convolutions_) all.push_back({operation, "own kernel"});
  return all;
}

void CudaBackend::require_precision(const Precision& precision) const {
  const auto needs = [&](int major, const char* what) {
    if (device_.major >= major) return;
    throw Unsupported(std::string(precision.name) + " needs " + what + " (compute capability " +
                      std::to_string(major) + ".0); " + device_.info.name + " has " +
                      device_.capability());
  };
  if (precision.compute == DType::f16) needs(7, "tensor cores");
  if (precision.compute == DType::bf16) needs(8, "bfloat16 tensor cores");
  if (precision.math == MathMode::tf32) needs(8, "tf32 tensor cores");
}

const Queue& CudaBackend::own(const char* operation, DType dtype) {
  own_operations_.insert({operation, dtype});
  return queue_;
}

// ---- Operations
// ----------------------------------------------------------------------------------

void CudaBackend::cast(ConstTensor from, Tensor to) { gpu::cast(own("cast", to.dtype), from, to); }

void CudaBackend::normalize_bytes(ConstTensor from, Tensor to, float scale, float shift) {
  gpu::normalize_bytes(own("normalize_bytes", to.dtype), from, to, scale, shift);
}

void CudaBackend::matmul(const MatmulForm& form, ConstTensor a, ConstTensor b, Tensor c,
                         const MatmulEpilogue& epilogue) {
  matmul_.run(queue_, form, a, b, c, epilogue);
}

void CudaBackend::matmul_batched(const MatmulForm& form, const MatmulBatch& batch,
                                 const ConstMatrices& a, const ConstMatrices& b,
                                 const Matrices& c) {
  matmul_.run_batched(queue_, form, batch, a, b, c);
}

void CudaBackend::add_bias(Tensor x, ConstTensor bias) {
  gpu::add_bias(own("add_bias", x.dtype), x, bias);
}

void CudaBackend::activation_forward(Activation activation, Tensor x, Tensor saved) {
  gpu::activation_forward(own("activation_forward", x.dtype), activation, x, saved);
}

void CudaBackend::activation_backward(Activation activation, ConstTensor saved, Tensor dx) {
  gpu::activation_backward(own("activation_backward", dx.dtype), activation, saved, dx);
}

void CudaBackend::bias_gradient(ConstTensor dy, Tensor db) {
  gpu::column_sums(own("bias_gradient", dy.dtype), dy, db);
}

void CudaBackend::softmax_cross_entropy(ConstTensor logits, ConstTensor labels, Tensor losses,
                                        Tensor gradient, ConstTensor state) {
  gpu::softmax_cross_entropy(own("softmax_cross_entropy", logits.dtype), logits, labels, losses,
                             gradient, state);
}

void CudaBackend::mean(ConstTensor values, Tensor mean) {
  gpu::mean(own("mean", values.dtype), values, mean);
}

void CudaBackend::check_finite(ConstTensor gradients, Tensor state) {
  gpu::check_finite(own("check_finite", gradients.dtype), gradients, state);
}

void CudaBackend::clip_gradients(ConstTensor gradients, double max_norm, Tensor state) {
  gpu::clip_gradients(own("clip_gradients", gradients.dtype), gradients, max_norm, state);
}

void CudaBackend::sgd(const SgdOptions& options, const ParameterUpdate& update, Tensor velocity,
                      ConstTensor state) {
  gpu::sgd(own("sgd", update.master.dtype), options, update, velocity, state);
}

void CudaBackend::adamw(const AdamOptions& options, const ParameterUpdate& update,
                        Tensor first_moment, Tensor second_moment, ConstTensor state) {
  gpu::adamw(own("adamw", update.master.dtype), options, update, first_moment, second_moment,
             state);
}

void CudaBackend::finish_step(const LossScaling& scaling, Tensor state) {
  gpu::finish_step(own("finish_step", DType::f32), scaling, state);
}

}  // namespace gpu

std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options) {
  const CudaProbe probe = probe_cuda();
  const auto index = static_cast<std::size_t>(options.device);
  if (probe.devices.empty()) throw Unsupported("no GPU: " + probe.reason);
  if (options.device < 0 || index >= probe.devices.size()) {
    throw Unsupported("there is no GPU " + std::to_string(options.device) + ", only " +
                      std::to_string(probe.devices.size()));
  }
  const CudaDevice& device = probe.devices[index];
  if (!device.unusable.empty()) throw Unsupported(device.info.name + ": " + device.unusable);
  return std::make_unique<gpu::CudaBackend>(device, options.device,
                                            gpu::matmul_provider(options.provider));
}

}  // namespace trainbench
