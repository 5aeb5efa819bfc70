#include "common/models/lstm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/check/check_backend.h"
#include "common/check/random_tensor.h"
#include "common/cost/cost_backend.h"
#include "common/data/loader.h"
#include "common/nn/trainer.h"
#include "cpu/cpu_backend.h"
#include "tests/finite_difference.h"

namespace trainbench {
namespace {

constexpr std::int64_t kBatch = 3;
constexpr std::int64_t kSteps = 4;
constexpr std::int64_t kVocabulary = 128;
const ModelSizes kSizes{{"embedding", 5}, {"hidden", 6}, {"sequence", kSteps}};

/// A small model with a batch of bytes, on the CPU.
struct SmallLstm {
  SmallLstm(const Precision& precision, bool fused, int threads = 1)
      : backend(make_cpu_backend({.threads = threads})),
        trainer(*backend, workload_by_name("lstm"),
                {.precision = precision, .batch = kBatch, .fused = fused, .sizes = kSizes}),
        batch{random_tensor(*backend, Shape{kBatch, kSteps + 1}, DType::u8, 1, 0, kVocabulary),
              {}} {}

  double loss() {
    trainer.evaluate(*backend, batch);
    return trainer.loss();
  }
  std::vector<double> gradients() {
    const Pass pass{*backend, trainer.options().precision.math, trainer.options().fused};
    trainer.model().forward(pass, trainer.parameters(), batch);
    trainer.model().loss(pass, batch, allocate_step_state(*backend, {}));
    trainer.model().backward(pass, trainer.parameters());
    return read_values(*backend, trainer.parameters().gradients());
  }

  std::unique_ptr<Backend> backend;
  Trainer trainer;
  Batch batch;
};

TEST(LstmModel, HasTheParametersOfItsLayers) {
  const Workload& workload = workload_by_name("lstm");
  const auto model = workload.make(workload, {});
  EXPECT_EQ(model->layout().parameter_count(), 3772544);
  const std::vector<ParameterSpec>& specs = model->layout().specs();
  ASSERT_EQ(specs.size(), 9u);
  EXPECT_EQ(specs[0].shape, (Shape{128, 256}));
  EXPECT_EQ(specs[1].shape, (Shape{2048, 256}));
  EXPECT_EQ(specs[5].shape, (Shape{2048, 512}));
  EXPECT_EQ(specs[7].shape, (Shape{128, 512}));
}

// Third derivatives of the mean loss by one weight: those of the gates and of the softmax are below
// 2, an embedding's entry of deviation 1 may move a gate by several, and a weight acts in all
// steps. Values are of a few hundred roundings.
TEST(LstmModel, GradientIsTheSlopeOfTheMeanLoss) {
  constexpr double kStep = 0x1p-15;
  for (const bool fused : {true, false}) {
    SmallLstm lstm(kFp64, fused);
    const std::vector<double> gradient = lstm.gradients();
    const std::vector<double> weights =
        read_values(*lstm.backend, lstm.trainer.parameters().master());
    const auto slopes =
        central_differences(weights, kStep, [&](const std::vector<double>& changed) {
          lstm.trainer.parameters().set(*lstm.backend, changed);
          return lstm.loss();
        });
    const double tolerance = difference_tolerance(kStep, 2 * 27 * kSteps, 300, 5);
    double largest = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      ASSERT_NEAR(gradient[i], slopes[i], tolerance) << "parameter " << i;
      largest = std::max(largest, std::abs(gradient[i]));
    }
    EXPECT_GT(largest, 1e4 * tolerance) << "the comparison must mean something";
  }
}

/// Relative distance of two vectors in the 2-norm.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0;
  double norm = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

// They differ in the order of sums and in where a gate is rounded: at most five roundings in each
// of two layers and four steps, there and back.
TEST(LstmModel, FusedAndSeparatePassesAgree) {
  for (const Precision& precision : {kFp64, kFp32}) {
    SmallLstm fused(precision, true);
    SmallLstm separate(precision, false);
    const double tolerance = 5 * 2 * 2 * kSteps * 4 * unit_roundoff(precision.compute);
    EXPECT_LE(distance(fused.gradients(), separate.gradients()), tolerance) << precision.name;
    EXPECT_NEAR(fused.loss(), separate.loss(), tolerance * 5) << precision.name;
  }
}

TEST(LstmModel, EveryResultOfAStepPassesTheCheck) {
  for (const Precision& precision : {kFp64, kFp32, kBf16, kFp16}) {
    for (const bool fused : {true, false}) {
      SmallLstm lstm(precision, fused);
      CheckBackend check(*lstm.backend);
      for (int i = 0; i < 2; ++i) lstm.trainer.step(check, lstm.batch);
      EXPECT_TRUE(check.summary().passed)
          << precision.name << (fused ? " fused " : " separate ") << check.summary().worst;
    }
  }
}

TEST(LstmModel, MemoryPlanIsWhatTheArenaHolds) {
  for (const Precision& precision : {kFp32, kBf16}) {
    const TrainerOptions options{.precision = precision, .batch = kBatch, .sizes = kSizes};
    CostBackend plan;
    Trainer planned(plan, workload_by_name("lstm"), options);
    const std::unique_ptr<Backend> cpu = make_cpu_backend({.threads = 1});
    Trainer real(*cpu, workload_by_name("lstm"), options);
    for (const MemoryKind kind : kMemoryKinds) {
      EXPECT_EQ(plan.memory()[kind], cpu->memory()[kind]) << precision.name << " " << name_of(kind);
    }
  }
}

// 2MNK of each product: the input gates and the recurrent ones but for the first step, forward and
// twice backward; the head likewise. The embedding needs none.
TEST(LstmModel, FlopsAreThoseOfItsProducts) {
  CostBackend cost;
  Trainer trainer(cost, workload_by_name("lstm"),
                  {.precision = kFp32, .batch = kBatch, .sizes = kSizes});
  cost.reset();
  trainer.step(cost, {ConstTensor(nullptr, Shape{kBatch, kSteps + 1}, DType::u8), {}});
  const double rows = kBatch * kSteps, later = kBatch * (kSteps - 1);
  const double inputs = rows * 24 * (5 + 6), recurrent = 2 * later * 24 * 6;
  const double head = rows * 6 * kVocabulary;
  EXPECT_EQ(cost.total().flops, 2 * 3 * (inputs + recurrent + head));
}

TEST(LstmModel, StepsAreEqualBitForBitAndAllocateNothingAfterTheFirst) {
  for (const Precision& precision : {kFp32, kBf16}) {
    SmallLstm one(precision, true, 2);
    SmallLstm two(precision, true, 2);
    one.trainer.step(*one.backend, one.batch);
    two.trainer.step(*two.backend, two.batch);
    const MemoryUse before = one.backend->memory();
    for (int i = 0; i < 3; ++i) {
      one.trainer.step(*one.backend, one.batch);
      two.trainer.step(*two.backend, two.batch);
      ASSERT_EQ(one.trainer.loss(), two.trainer.loss());
    }
    EXPECT_EQ(one.backend->memory().allocations, before.allocations);
    EXPECT_EQ(one.backend->memory().total(), before.total());
  }
}

/// Losses of steps on the synthetic text.
std::vector<double> losses(const Precision& precision, int steps) {
  const Workload& workload = workload_by_name("lstm");
  const ModelSizes sizes{{"embedding", 32}, {"hidden", 64}, {"sequence", 32}};
  const Dataset data =
      load_dataset("text", "synthetic", 1, {.steps = 32, .vocabulary = kVocabulary});
  const auto backend = make_cpu_backend({});
  Trainer trainer(*backend, workload, {.precision = precision, .batch = 16, .sizes = sizes});
  BatchSource source(data, 16, 1);
  const std::vector<Batch> batches = make_resident_batches(*backend, source, 50);
  std::vector<double> result;
  for (int i = 0; i < steps; ++i) {
    trainer.step(*backend, batches[static_cast<std::size_t>(i) % batches.size()]);
    result.push_back(trainer.loss());
  }
  return result;
}

// The loss starts near log(128) = 4.85. Rounding to 8 bits moves a loss by a few hundredths of
// itself, and two paths that rounding parted stay as near as their batches' losses do to each
// other.
TEST(LstmModel, LossFallsAlikeInBothPrecisions) {
  constexpr int kTrained = 150;
  const std::vector<double> full = losses(kFp32, kTrained);
  const std::vector<double> half = losses(kBf16, kTrained);
  EXPECT_NEAR(full.front(), std::log(128.0), 0.3);
  EXPECT_LT(full.back(), 0.6 * full.front());
  for (int i = 0; i < kTrained; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_NEAR(half[at], full[at], 0.05 * full[at]) << "step " << i;
  }
}

}  // namespace
}  // namespace trainbench
