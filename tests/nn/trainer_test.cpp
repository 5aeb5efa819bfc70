#include "common/nn/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/check/random_tensor.h"
#include "common/forwarding_backend.h"
#include "cpu/cpu_backend.h"

namespace trainbench {
namespace {

constexpr std::int64_t kBatch = 24;
const ModelSizes kSizes{{"inputs", 30}, {"hidden", 65}, {"layers", 3}, {"classes", 10}};
constexpr Precision kCpuPrecisions[] = {kFp64, kFp32, kFp16, kBf16};

Batch random_batch(Backend& backend) {
  return {random_tensor(backend, Shape{kBatch, 5, 6, 1}, DType::u8, 1, 0, 256),
          random_tensor(backend, Shape{kBatch}, DType::i32, 2, 0, 10)};
}

TrainerOptions options(const Precision& precision, bool fused = true, std::uint64_t seed = 1) {
  return {.precision = precision, .batch = kBatch, .seed = seed, .fused = fused, .sizes = kSizes};
}

std::vector<double> losses(const TrainerOptions& wanted, int steps, int threads = 2) {
  const std::unique_ptr<Backend> backend = make_cpu_backend({.threads = threads});
  Trainer trainer(*backend, workload_by_name("mlp"), wanted);
  const Batch batch = random_batch(*backend);
  std::vector<double> history;
  for (int i = 0; i < steps; ++i) {
    trainer.step(*backend, batch);
    history.push_back(trainer.loss());
  }
  return history;
}

TEST(Trainer, LossFallsInEveryPrecisionFusedAndSeparate) {
  for (const Precision& precision : kCpuPrecisions) {
    for (const bool fused : {true, false}) {
      const std::vector<double> history = losses(options(precision, fused), 25);
      // Ten equally likely classes: log 10 at the start, within what small random logits add.
      EXPECT_NEAR(history.front(), std::log(10.0), 0.5) << precision.name;
      EXPECT_LT(history.back(), history.front()) << precision.name;
    }
  }
}

TEST(Trainer, TheSameCommandGivesTheSameLossesTwice) {
  for (const Precision& precision : kCpuPrecisions) {
    EXPECT_EQ(losses(options(precision), 5), losses(options(precision), 5)) << precision.name;
    EXPECT_NE(losses(options(precision), 1), losses(options(precision, true, 2), 1));
  }
}

TEST(Trainer, EvaluationChangesNothing) {
  const std::unique_ptr<Backend> backend = make_cpu_backend({.threads = 1});
  Trainer trainer(*backend, workload_by_name("mlp"), options(kFp32));
  const Batch batch = random_batch(*backend);
  const std::vector<double> before = read_values(*backend, trainer.parameters().master());
  trainer.evaluate(*backend, batch);
  EXPECT_EQ(read_values(*backend, trainer.parameters().master()), before);
  EXPECT_EQ(trainer.state().step, 0);
  const double loss = trainer.loss();
  trainer.step(*backend, batch);
  EXPECT_EQ(trainer.loss(), loss) << "a step's loss is that before its update";
}

// In double, from zero velocity: w - rate g, to the roundings of one product and one difference.
TEST(Trainer, AStepFollowsTheOptimizersDefinition) {
  const std::unique_ptr<Backend> backend = make_cpu_backend({.threads = 1});
  Trainer trainer(*backend, workload_by_name("mlp"), options(kFp64));
  const std::vector<double> before = read_values(*backend, trainer.parameters().master());
  trainer.step(*backend, random_batch(*backend));
  const std::vector<double> after = read_values(*backend, trainer.parameters().master());
  const std::vector<double> gradient = read_values(*backend, trainer.parameters().gradients());
  const double rate = static_cast<float>(workload_by_name("mlp").learning_rate);
  double moved = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const double expected = before[i] - rate * gradient[i];
    ASSERT_NEAR(after[i], expected, 2 * 0x1p-53 * (std::abs(before[i]) + std::abs(gradient[i])));
    moved += std::abs(after[i] - before[i]);
  }
  EXPECT_GT(moved, 0);
}

TEST(Trainer, AStepAllocatesNothingOnceAllHasRun) {
  for (const Precision& precision : kCpuPrecisions) {
    const std::unique_ptr<Backend> backend = make_cpu_backend({.threads = 1});
    Trainer trainer(*backend, workload_by_name("mlp"), options(precision));
    const Batch batch = random_batch(*backend);
    trainer.step(*backend, batch);
    const MemoryUse before = backend->memory();
    trainer.step(*backend, batch);
    EXPECT_EQ(backend->memory().allocations, before.allocations) << precision.name;
    EXPECT_EQ(backend->memory().total(), before.total()) << precision.name;
  }
}

TEST(Trainer, CountsTheSamplesWhoseLargestLogitIsTheirLabels) {
  const std::unique_ptr<Backend> backend = make_cpu_backend({.threads = 1});
  Trainer trainer(*backend, workload_by_name("mlp"), options(kFp32));
  trainer.evaluate(*backend, random_batch(*backend));
  const std::vector<double> logits = read_values(*backend, trainer.model().logits());
  std::vector<std::int32_t> labels;
  for (std::size_t row = 0; row < static_cast<std::size_t>(kBatch); ++row) {
    const auto first = logits.begin() + static_cast<std::ptrdiff_t>(row * 10);
    labels.push_back(static_cast<std::int32_t>(std::max_element(first, first + 10) - first));
  }
  EXPECT_EQ(trainer.correct(labels), kBatch);
  labels[3] = (labels[3] + 1) % 10;
  EXPECT_EQ(trainer.correct(labels), kBatch - 1);
}

/// Plants an Inf into the gradients before they are looked at, and lets the loss scale grow early.
class PlantingBackend : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;

  void plant() { planted_ = true; }

  void check_finite(ConstTensor gradients, Tensor state) override {
    if (planted_) {
      std::vector<double> values = read_values(inner_, gradients);
      values[values.size() / 2] = std::numeric_limits<double>::infinity();
      write_values(inner_,
                   Tensor(const_cast<void*>(gradients.data), gradients.shape, gradients.dtype),
                   values);
    }
    planted_ = false;
    inner_.check_finite(gradients, state);
  }

  void finish_step(const LossScaling& scaling, Tensor state) override {
    LossScaling early = scaling;
    early.growth_interval = 3;
    inner_.finish_step(early, state);
  }

 private:
  bool planted_ = false;
};

TEST(Trainer, SkipsANonfiniteGradientAndMovesTheLossScale) {
  const std::unique_ptr<Backend> backend = make_cpu_backend({.threads = 1});
  PlantingBackend planting(*backend);
  Trainer trainer(*backend, workload_by_name("mlp"), options(kFp16));
  const Batch batch = random_batch(*backend);
  const auto weights = [&] { return read_values(*backend, trainer.parameters().master()); };
  EXPECT_EQ(trainer.state().loss_scale, 65536);

  const std::vector<double> initial = weights();
  planting.plant();
  trainer.step(planting, batch);
  EXPECT_EQ(weights(), initial);
  EXPECT_EQ(trainer.state().step, 0);
  EXPECT_EQ(trainer.state().skipped_steps, 1);
  EXPECT_EQ(trainer.state().loss_scale, 32768);
  EXPECT_EQ(trainer.state().nonfinite, 0);

  for (int step = 1; step <= 3; ++step) {
    EXPECT_EQ(trainer.state().loss_scale, 32768);
    trainer.step(planting, batch);
    EXPECT_EQ(trainer.state().step, step);
  }
  EXPECT_NE(weights(), initial);
  EXPECT_EQ(trainer.state().loss_scale, 65536) << "three clean steps double it";
  EXPECT_EQ(trainer.state().skipped_steps, 1);
}

TEST(Trainer, OnlyFp16ScalesItsLoss) {
  for (const Precision& precision : kCpuPrecisions) {
    const std::unique_ptr<Backend> backend = make_cpu_backend({.threads = 1});
    Trainer trainer(*backend, workload_by_name("mlp"), options(precision));
    EXPECT_EQ(trainer.state().loss_scale, precision == kFp16 ? 65536 : 1) << precision.name;
  }
}

TEST(Trainer, APrecisionThatTheDeviceLacksIsUnsupported) {
  const std::unique_ptr<Backend> backend = make_cpu_backend({.threads = 1});
  EXPECT_THROW(Trainer(*backend, workload_by_name("mlp"), options(kTf32)), Unsupported);
}

}  // namespace
}  // namespace trainbench
