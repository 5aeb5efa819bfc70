#include "common/check/check_backend.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

#include "common/check/random_tensor.h"
#include "common/nn/trainer.h"
#include "cpu/cpu_backend.h"

namespace trainbench {
namespace {

const ModelSizes kSizes{{"inputs", 35}, {"hidden", 130}, {"layers", 3}, {"classes", 10}};
constexpr std::int64_t kBatch = 67;

/// Images and labels of a batch; the same every time.
Batch random_batch(Backend& backend) {
  const Tensor images = random_tensor(backend, Shape{kBatch, 5, 7, 1}, DType::u8, 100, 0, 256);
  const Tensor labels = random_tensor(backend, Shape{kBatch}, DType::i32, 101, 0, 10);
  return {images, labels};
}

Workload with_adam() {
  Workload workload = workload_by_name("mlp");
  workload.optimizer = AdamOptions{.weight_decay = 0.01};
  workload.learning_rate = 1e-3;
  return workload;
}

void expect_passes(const CheckBackend& check) {
  for (const OutputCheck& output : check.outputs()) {
    EXPECT_TRUE(output.passed()) << output.describe();
    EXPECT_GT(output.compared, 0) << output.operation << " " << output.output;
  }
  EXPECT_TRUE(check.summary().passed);
}

TEST(CheckBackend, PassesTrainingStepsOfTheCpu) {
  const std::unique_ptr<Backend> cpu = make_cpu_backend({.threads = 1});
  const Batch batch = random_batch(*cpu);
  for (const Precision& precision : {kFp64, kFp32, kFp16, kBf16}) {
    for (const bool fused : {true, false}) {
      for (const Workload& workload : {workload_by_name("mlp"), with_adam()}) {
        SCOPED_TRACE(std::string(precision.name) + (fused ? " fused" : ""));
        Trainer trainer(*cpu, workload,
                        {.precision = precision, .batch = kBatch, .fused = fused, .sizes = kSizes});
        CheckBackend check(*cpu);
        for (int step = 0; step < 2; ++step) trainer.step(check, batch);
        expect_passes(check);
        EXPECT_EQ(trainer.state().step, 2);
      }
    }
  }
}

TEST(CheckBackend, SeesEveryOperationOfAStep) {
  const std::unique_ptr<Backend> cpu = make_cpu_backend({.threads = 1});
  Trainer trainer(*cpu, workload_by_name("mlp"),
                  {.precision = kFp16, .batch = kBatch, .sizes = kSizes});
  CheckBackend check(*cpu);
  trainer.step(check, random_batch(*cpu));
  std::set<std::string> seen;
  for (const OutputCheck& output : check.outputs()) {
    seen.insert(output.operation + " / " + output.output);
  }
  const std::set<std::string> expected{
      "normalize_bytes f16 / to",
      "matmul 67x130x35 NT f16 bias relu / c",
      "matmul 67x130x130 NT f16 bias relu / c",
      "matmul 67x10x130 NT f16 bias / c",
      "softmax_cross_entropy f16 / losses",
      "softmax_cross_entropy f16 / gradient",
      "mean f32 / mean",
      "matmul 10x130x67 TN f16->f32 bias_gradient / c",
      "matmul 10x130x67 TN f16->f32 bias_gradient / bias_gradient",
      "matmul 67x130x10 NN f16 relu' / c",
      "matmul 130x130x67 TN f16->f32 bias_gradient / c",
      "matmul 130x130x67 TN f16->f32 bias_gradient / bias_gradient",
      "matmul 67x130x130 NN f16 relu' / c",
      "matmul 130x35x67 TN f16->f32 bias_gradient / c",
      "matmul 130x35x67 TN f16->f32 bias_gradient / bias_gradient",
      "check_finite f32 / state",
      "sgd f32 / master",
      "sgd f32 / weights",
      "sgd f32 / velocity",
      "finish_step / state"};
  EXPECT_EQ(seen, expected);
}

TEST(CheckBackend, RecomputesAtLeast4096ElementsOfALargeResult) {
  const std::unique_ptr<Backend> cpu = make_cpu_backend({.threads = 1});
  const Tensor a = random_tensor(*cpu, Shape{100, 50}, DType::f32, 1);
  const Tensor b = random_tensor(*cpu, Shape{50, 90}, DType::f32, 2);
  const Tensor c = cpu->allocate(Shape{100, 90}, DType::f32, MemoryKind::workspace);
  CheckBackend check(*cpu);
  check.matmul({}, a, b, c, {});
  EXPECT_GE(check.outputs().front().compared, 4096);
  EXPECT_TRUE(check.summary().passed);
}

TEST(CheckBackend, PassesSmoothActivationsBothWays) {
  const std::unique_ptr<Backend> cpu = make_cpu_backend({.threads = 1});
  for (const Activation activation : {Activation::gelu, Activation::silu}) {
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
      SCOPED_TRACE(std::string(name_of(activation)) + " " + std::string(name_of(dtype)));
      CheckBackend check(*cpu);
      const Tensor x = random_tensor(*cpu, Shape{31, 40}, dtype, 1, -6, 6);
      const Tensor w = random_tensor(*cpu, Shape{40, 40}, dtype, 2);
      const Tensor bias = random_tensor(*cpu, Shape{40}, dtype, 3);
      const Tensor y = cpu->allocate(Shape{31, 40}, dtype, MemoryKind::workspace);
      const Tensor saved = cpu->allocate_saved(activation, 31, 40, dtype);
      check.matmul({}, x, w, y, {.bias = bias, .activation = activation, .saved = saved});
      const Tensor dx = cpu->allocate(Shape{31, 40}, dtype, MemoryKind::workspace);
      check.matmul({.transpose_b = true}, y, w, dx,
                   {.gradient_of = activation, .gradient_saved = saved});
      check.activation_forward(activation, x, saved);
      check.activation_backward(activation, saved, dx);
      expect_passes(check);
      EXPECT_EQ(check.outputs().size(), 4u);
    }
  }
}

TEST(CheckBackend, FollowsInfAndNan) {
  const std::unique_ptr<Backend> cpu = make_cpu_backend({.threads = 1});
  constexpr double kInf = std::numeric_limits<double>::infinity();
  CheckBackend check(*cpu);
  const Tensor x = tensor_of(*cpu, Shape{1, 4}, DType::f32, {kInf, -kInf, std::nan(""), 1});
  const Tensor one = tensor_of(*cpu, Shape{4}, DType::f32, {1, 1, 1, 1});
  check.add_bias(x, one);
  const Tensor narrow = cpu->allocate(Shape{4}, DType::f16, MemoryKind::workspace);
  check.cast(tensor_of(*cpu, Shape{4}, DType::f32, {1e6, -kInf, std::nan(""), 65519}), narrow);
  // The product overflows fp16 and may.
  const Tensor big = tensor_of(*cpu, Shape{1, 1}, DType::f16, {6e4});
  const Tensor c = cpu->allocate(Shape{1, 1}, DType::f16, MemoryKind::workspace);
  check.matmul({}, big, big, c, {});
  expect_passes(check);
}

TEST(CheckBackend, ASkippedUpdateChangesNothing) {
  const std::unique_ptr<Backend> cpu = make_cpu_backend({.threads = 1});
  CheckBackend check(*cpu);
  const Tensor w = random_tensor(*cpu, Shape{64}, DType::f32, 1);
  const Tensor g = random_tensor(*cpu, Shape{64}, DType::f32, 2);
  const Tensor v = random_tensor(*cpu, Shape{64}, DType::f32, 3);
  const Tensor state = allocate_step_state(*cpu, {.learning_rate = 0.1f, .nonfinite = 1});
  check.sgd({}, {w, {}, g}, v, state);
  check.finish_step({.enabled = true}, state);
  expect_passes(check);
  EXPECT_EQ(read_step_state(*cpu, state).skipped_steps, 1);
}

TEST(CheckBackend, NeedsTheForwardPass) {
  const std::unique_ptr<Backend> cpu = make_cpu_backend({.threads = 1});
  CheckBackend check(*cpu);
  const Tensor x = random_tensor(*cpu, Shape{4, 4}, DType::f32, 1);
  const Tensor saved = cpu->allocate_saved(Activation::relu, 4, 4, DType::f32);
  EXPECT_THROW(check.activation_backward(Activation::relu, saved, x), std::logic_error);
}

TEST(CheckBackend, CannotBeRecorded) {
  const std::unique_ptr<Backend> cpu = make_cpu_backend({.threads = 1});
  CheckBackend check(*cpu);
  EXPECT_THROW(check.record([] {}), Unsupported);
}

}  // namespace
}  // namespace trainbench
