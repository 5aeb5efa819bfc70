#include "common/cost/cost_backend.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/cost/operand_bytes.h"
#include "common/matmul_size.h"

namespace trainbench {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Slots without bytes.
class EmptyChannel : public BatchChannel {
 public:
  explicit EmptyChannel(std::size_t slot_bytes)
      : slot_(Shape{static_cast<std::int64_t>(slot_bytes)}) {}
  std::byte* host(int) override { return nullptr; }
  void send(int) override {}
  Tensor receive(int) override { return Tensor(nullptr, slot_, DType::u8); }
  void release(int) override {}

 private:
  Shape slot_;
};

/// Nothing runs, so no time passes.
class EmptyTimer : public DeviceTimer {
 public:
  void start() override {}
  void stop() override {}
  double seconds() override { return 0; }
};

}  // namespace

class CostBackend::CostRecording : public Recording {
 public:
  CostRecording(CostBackend& backend, std::vector<OperationCost> operations)
      : backend_(backend), operations_(std::move(operations)) {}

  void replay() override {
    for (const OperationCost& part : operations_) {
      backend_.count(part.operation, part.calls, part.cost);
    }
  }

 private:
  CostBackend& backend_;
  std::vector<OperationCost> operations_;
};

void CostBackend::count(const std::string& operation, std::int64_t calls, const Cost& cost) {
  auto found = std::find_if(operations_.begin(), operations_.end(),
                            [&](const OperationCost& part) { return part.operation == operation; });
  if (found == operations_.end()) {
    operations_.push_back({operation, 0, {}});
    found = operations_.end() - 1;
  }
  found->calls += calls;
  found->cost += cost;
}

Cost CostBackend::total() const {
  Cost sum;
  for (const OperationCost& part : operations_) sum += part.cost;
  return sum;
}

Tensor CostBackend::allocate(Shape shape, DType dtype, MemoryKind kind) {
  const Tensor tensor(nullptr, shape, dtype);
  memory_[kind] += tensor.bytes();
  ++memory_.allocations;
  return tensor;
}

Tensor CostBackend::allocate_saved(Activation activation, std::int64_t m, std::int64_t n,
                                   DType dtype) {
  switch (activation) {
    case Activation::none:
      return {};
    case Activation::relu: {
      const std::int64_t row_bits = round_up(n * saved_.relu_bits, saved_.relu_row_bits);
      return allocate(Shape{m, round_up(row_bits, 8) / 8}, DType::u8, MemoryKind::activations);
    }
    case Activation::gelu:
    case Activation::silu:
      return allocate(Shape{m, round_up(n, saved_.input_row_elements)}, dtype,
                      MemoryKind::activations);
  }
  return {};
}

std::unique_ptr<BatchChannel> CostBackend::make_channel(std::size_t slot_bytes, int slots) {
  memory_[MemoryKind::workspace] += slot_bytes * static_cast<std::size_t>(slots);
  ++memory_.allocations;
  return std::make_unique<EmptyChannel>(slot_bytes);
}

void CostBackend::copy_to_host(void* to, ConstTensor from) { std::memset(to, 0, from.bytes()); }

void CostBackend::copy(ConstTensor from, Tensor to) {
  add_traffic("copy", bytes_of(from) + bytes_of(to));
}

void CostBackend::fill_zero(Tensor tensor) { add_traffic("fill_zero", bytes_of(tensor)); }

std::unique_ptr<Recording> CostBackend::record(const std::function<void()>& work) {
  std::vector<OperationCost> before = std::exchange(operations_, {});
  work();
  return std::make_unique<CostRecording>(*this, std::exchange(operations_, std::move(before)));
}

std::unique_ptr<DeviceTimer> CostBackend::make_timer() { return std::make_unique<EmptyTimer>(); }

void CostBackend::cast(ConstTensor from, Tensor to) {
  add_traffic("cast", bytes_of(from) + bytes_of(to));
}

void CostBackend::normalize_bytes(ConstTensor from, Tensor to, float, float) {
  add_traffic("normalize_bytes", bytes_of(from) + bytes_of(to));
}

void CostBackend::matmul(const MatmulForm& form, ConstTensor a, ConstTensor b, Tensor c,
                         const MatmulEpilogue& epilogue) {
  const MatmulSize size = matmul_size(form, a, b, c, epilogue);
  Cost cost;
  cost.flops =
      2.0 * static_cast<double>(size.m) * static_cast<double>(size.n) * static_cast<double>(size.k);
  cost.bytes = bytes_of(a) + bytes_of(b) + bytes_of(c) * (form.accumulate ? 2 : 1) +
               bytes_of(epilogue.bias) + bytes_of(epilogue.saved) +
               bytes_of(epilogue.gradient_saved) + bytes_of(epilogue.bias_gradient);
  count(matmul_name(form, size, a.dtype, c.dtype), 1, cost);
}

void CostBackend::add_bias(Tensor x, ConstTensor bias) {
  add_traffic("add_bias", 2 * bytes_of(x) + bytes_of(bias));
}

void CostBackend::activation_forward(Activation, Tensor x, Tensor saved) {
  add_traffic("activation_forward", 2 * bytes_of(x) + bytes_of(saved));
}

void CostBackend::activation_backward(Activation, ConstTensor saved, Tensor dx) {
  add_traffic("activation_backward", bytes_of(saved) + 2 * bytes_of(dx));
}

void CostBackend::bias_gradient(ConstTensor dy, Tensor db) {
  add_traffic("bias_gradient", bytes_of(dy) + bytes_of(db));
}

void CostBackend::softmax_cross_entropy(ConstTensor logits, ConstTensor labels, Tensor losses,
                                        Tensor gradient, ConstTensor) {
  add_traffic("softmax_cross_entropy",
              bytes_of(logits) + bytes_of(labels) + bytes_of(losses) + bytes_of(gradient));
}

void CostBackend::mean(ConstTensor values, Tensor mean) {
  add_traffic("mean", bytes_of(values) + bytes_of(mean));
}

void CostBackend::check_finite(ConstTensor gradients, Tensor) {
  add_traffic("check_finite", bytes_of(gradients));
}

void CostBackend::clip_gradients(ConstTensor gradients, double, Tensor) {
  add_traffic("clip_gradients", bytes_of(gradients));
}

void CostBackend::sgd(const SgdOptions&, const ParameterUpdate& update, Tensor velocity,
                      ConstTensor) {
  add_traffic("sgd", 2 * bytes_of(update.master) + bytes_of(update.weights) +
                         bytes_of(update.gradient) + 2 * bytes_of(velocity));
}

void CostBackend::adamw(const AdamOptions&, const ParameterUpdate& update, Tensor first_moment,
                        Tensor second_moment, ConstTensor) {
  add_traffic("adamw", 2 * bytes_of(update.master) + bytes_of(update.weights) +
                           bytes_of(update.gradient) + 2 * bytes_of(first_moment) +
                           2 * bytes_of(second_moment));
}

}  // namespace trainbench
