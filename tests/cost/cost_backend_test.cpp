#include "common/cost/cost_backend.h"

#include <gtest/gtest.h>

#include <string>

#include "common/nn/trainer.h"
#include "cpu/cpu_backend.h"

namespace trainbench {
namespace {

constexpr std::int64_t kBatch = 6;
constexpr std::int64_t kInputs = 20;
constexpr std::int64_t kHidden = 33;
constexpr std::int64_t kClasses = 10;
const ModelSizes kSizes{
    {"inputs", kInputs}, {"hidden", kHidden}, {"layers", 3}, {"classes", kClasses}};

/// What ReLU leaves on the CPU: a byte an element.
constexpr SavedLayout kCpuSaved{.relu_bits = 8, .relu_row_bits = 8, .input_row_elements = 1};

TrainerOptions options(const Precision& precision, bool fused = true) {
  return {.precision = precision, .batch = kBatch, .seed = 1, .fused = fused, .sizes = kSizes};
}

/// A batch without data, as a backend that touches none takes it.
Batch planned_batch() {
  return {ConstTensor(nullptr, Shape{kBatch, 4, 5, 1}, DType::u8),
          ConstTensor(nullptr, Shape{kBatch}, DType::i32)};
}

double cost_of_step(const Precision& precision, bool fused, double Cost::*part) {
  CostBackend cost;
  Trainer trainer(cost, workload_by_name("mlp"), options(precision, fused));
  cost.reset();
  trainer.step(cost, planned_batch());
  return cost.total().*part;
}

// 2 b i o for the forward product of a layer, the same for its weight gradient and the same for its
// input's gradient, which the first layer does not need.
TEST(CostBackend, CountsTheFlopsOfAStep) {
  const double layers[] = {kInputs * kHidden, kHidden * kHidden, kHidden * kClasses};
  double expected = 0;
  for (const double weights : layers) expected += 2 * 2.0 * kBatch * weights;
  expected += 2.0 * kBatch * (layers[1] + layers[2]);
  for (const bool fused : {true, false}) {
    EXPECT_EQ(cost_of_step(kFp32, fused, &Cost::flops), expected);
    EXPECT_EQ(cost_of_step(kBf16, fused, &Cost::flops), expected);
  }
}

// By hand, fused fp32, in elements of 4 bytes unless said otherwise; e = what the flat buffers
// hold.
TEST(CostBackend, CountsTheCompulsoryBytesOfAStep) {
  const auto padded = [](std::int64_t n) { return (n + 63) / 64 * 64; };
  const std::int64_t e = padded(kHidden * kInputs) + padded(kHidden) + padded(kHidden * kHidden) +
                         padded(kHidden) + padded(kClasses * kHidden) + padded(kClasses);
  constexpr double kMask = kBatch * 5;  // bytes: 33 bits a row are 5 bytes
  const double b = kBatch;
  const double input = b * kInputs;
  const double hidden = b * kHidden;
  const double logits = b * kClasses;
  const double w1 = kHidden * kInputs;
  const double w2 = kHidden * kHidden;
  const double w3 = kClasses * kHidden;
  double expected = input + 4 * input;                       // normalize_bytes
  expected += 4 * (input + w1 + kHidden + hidden) + kMask;   // layer 1
  expected += 4 * (hidden + w2 + kHidden + hidden) + kMask;  // layer 2
  expected += 4 * (hidden + w3 + kClasses + logits);         // layer 3
  expected += 4 * (logits + b + b + logits);                 // loss, its gradient
  expected += 4 * (b + 1);                                   // mean
  expected += 4 * (logits + hidden + w3 + kClasses);         // dW3, db3
  expected += 4 * (logits + w3 + hidden) + kMask;            // dz2
  expected += 4 * (hidden + hidden + w2 + kHidden);          // dW2, db2
  expected += 4 * (hidden + w2 + hidden) + kMask;            // dz1
  expected += 4 * (hidden + input + w1 + kHidden);           // dW1, db1
  expected += 4 * 5.0 * static_cast<double>(e);              // SGD with momentum
  EXPECT_EQ(cost_of_step(kFp32, true, &Cost::bytes), expected);
}

TEST(CostBackend, SeparateOperationsMoveMoreBytesThanFusedOnes) {
  EXPECT_GT(cost_of_step(kFp32, false, &Cost::bytes), cost_of_step(kFp32, true, &Cost::bytes));
}

TEST(CostBackend, CountsTheSameOnAnotherBackendsTensors) {
  const std::unique_ptr<Backend> cpu = make_cpu_backend({.threads = 1});
  Trainer trainer(*cpu, workload_by_name("mlp"), options(kFp32));
  const Batch batch{cpu->allocate(Shape{kBatch, 4, 5, 1}, DType::u8, MemoryKind::workspace),
                    cpu->allocate(Shape{kBatch}, DType::i32, MemoryKind::workspace)};
  CostBackend cost;
  trainer.step(cost, batch);
  EXPECT_EQ(cost.total().flops, cost_of_step(kFp32, true, &Cost::flops));
}

TEST(CostBackend, PlansTheMemoryThatTheCpuHolds) {
  for (const Precision& precision : {kFp64, kFp32, kBf16, kFp16}) {
    CostBackend plan(kCpuSaved);
    Trainer planned(plan, workload_by_name("mlp"), options(precision));
    const std::unique_ptr<Backend> cpu = make_cpu_backend({.threads = 1});
    Trainer real(*cpu, workload_by_name("mlp"), options(precision));
    for (const MemoryKind kind : kMemoryKinds) {
      EXPECT_EQ(plan.memory()[kind], cpu->memory()[kind]) << precision.name << " " << name_of(kind);
      EXPECT_GT(plan.memory()[kind], 0u) << precision.name << " " << name_of(kind);
    }
    EXPECT_EQ(plan.memory().allocations, cpu->memory().allocations);
  }
}

TEST(CostBackend, PadsWhatAnActivationLeaves) {
  const auto bytes = [](const SavedLayout& layout, Activation activation) {
    CostBackend plan(layout);
    plan.allocate_saved(activation, 3, 33, DType::f32);
    return plan.memory()[MemoryKind::activations];
  };
  EXPECT_EQ(bytes({}, Activation::none), 0u);
  EXPECT_EQ(bytes({}, Activation::relu), 3u * 5);
  EXPECT_EQ(bytes({.relu_row_bits = 128}, Activation::relu), 3u * 16);
  EXPECT_EQ(bytes(kCpuSaved, Activation::relu), 3u * 33);
  EXPECT_EQ(bytes({}, Activation::gelu), 3u * 33 * 4);
  for (const Activation activation : {Activation::gelu, Activation::silu}) {
    EXPECT_EQ(bytes({.input_row_elements = 8}, activation), 3u * 40 * 4);
  }
}

TEST(CostBackend, BreaksTheTotalDownByOperation) {
  CostBackend cost;
  Trainer trainer(cost, workload_by_name("mlp"), options(kFp32));
  cost.reset();
  trainer.step(cost, planned_batch());
  trainer.step(cost, planned_batch());
  Cost sum;
  bool first_layer = false;
  for (const OperationCost& part : cost.operations()) {
    EXPECT_EQ(part.calls, 2) << part.operation;
    sum += part.cost;
    if (part.operation != "matmul 6x33x20 NT f32") continue;
    first_layer = true;
    EXPECT_EQ(part.cost.flops, 2 * 2.0 * 6 * 33 * 20);
  }
  EXPECT_TRUE(first_layer);
  EXPECT_EQ(sum.flops, cost.total().flops);
  EXPECT_EQ(sum.bytes, cost.total().bytes);
}

TEST(CostBackend, ARecordingCountsWhenItIsReplayed) {
  CostBackend cost;
  const Tensor x = cost.allocate(Shape{8}, DType::f32, MemoryKind::workspace);
  const auto recording = cost.record([&] { cost.fill_zero(x); });
  EXPECT_EQ(cost.total().bytes, 0);
  recording->replay();
  recording->replay();
  EXPECT_EQ(cost.total().bytes, 2 * 32);
}

TEST(CostBackend, RefusesShapesThatDoNotFit) {
  CostBackend cost;
  const Tensor a = cost.allocate(Shape{3, 4}, DType::f32, MemoryKind::workspace);
  const Tensor b = cost.allocate(Shape{5, 6}, DType::f32, MemoryKind::workspace);
  const Tensor c = cost.allocate(Shape{3, 6}, DType::f32, MemoryKind::workspace);
  EXPECT_THROW(cost.matmul({}, a, b, c, {}), std::logic_error);
}

}  // namespace
}  // namespace trainbench
