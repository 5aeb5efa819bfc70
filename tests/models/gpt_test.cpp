#include "common/models/gpt.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/check/random_tensor.h"
#include "common/cost/cost_backend.h"
#include "common/models/workload.h"
#include "common/nn/trainer.h"
#include "cpu/cpu_backend.h"
#include "tests/finite_difference.h"

namespace trainbench {
namespace {

constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kSteps = 5;
constexpr std::int64_t kVocabulary = 7;
const ModelSizes kSizes{
    {"layers", 2}, {"heads", 2}, {"width", 6}, {"sequence", kSteps}, {"vocabulary", kVocabulary}};

/// A small model with a batch, on the CPU. Weights are larger than training starts from, so that
/// every path carries a gradient.
struct SmallGpt {
  SmallGpt(const Precision& precision, bool fused)
      : model(workload_by_name("gpt"), kSizes),
        parameters(*backend, model.layout(), precision, 5),
        batch{random_tensor(*backend, Shape{kBatch, kSteps + 1}, DType::u8, 1, 0, kVocabulary), {}},
        state(allocate_step_state(*backend, {})),
        pass{*backend, precision.math, fused} {
    parameters.set(*backend, random_values(model.layout().elements(), 9, -0.6, 0.6));
    model.allocate(*backend, {.batch = kBatch,
                              .compute = precision.compute,
                              .master = precision.master,
                              .training = true,
                              .fused = fused});
  }

  void differentiate() {
    loss();
    model.backward(pass, parameters);
  }

  double loss() {
    model.forward(pass, parameters, batch);
    model.loss(pass, batch, state);
    double sum = 0;
    for (const double loss : read_values(*backend, model.losses())) sum += loss;
    return sum / static_cast<double>(kBatch * kSteps);
  }

  /// Of the parameters, without the gaps between them.
  std::vector<double> gradients() {
    std::vector<double> all;
    for (std::size_t i = 0; i < model.layout().specs().size(); ++i) {
      const std::vector<double> part = read_values(*backend, parameters.gradient(i));
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

  std::unique_ptr<Backend> backend = make_cpu_backend({.threads = 1});
  Gpt model;
  Parameters parameters;
  Batch batch;
  Tensor state;
  Pass pass;
};

TEST(Gpt, HasTheParametersOfGpt2AndOfTheByteModel) {
  const auto count = [](const char* name) {
    const Workload& workload = workload_by_name(name);
    return workload.make(workload, {})->layout().parameter_count();
  };
  EXPECT_EQ(count("gpt"), 10795008);
  EXPECT_EQ(count("gpt2"), 124475904);
  // Of a block: four matrices of 12 n^2 in all with biases of 9 n, and two norms of 2 n.
  constexpr std::int64_t n = 6;
  EXPECT_EQ(Gpt(workload_by_name("gpt"), kSizes).layout().parameter_count(),
            2 * (12 * n * n + 13 * n) + kVocabulary * n + kSteps * n + 2 * n);
}

// A central difference errs by h^2 / 6 f''', so that those with h and 2h are apart by three times
// the error of the better one, to the next order. Losses of about 2 pass a few hundred roundings.
TEST(Gpt, GradientIsTheSlopeOfTheMeanLoss) {
  constexpr double kStep = 0x1p-11;
  for (const bool fused : {true, false}) {
    SmallGpt gpt(kFp64, fused);
    gpt.differentiate();
    const std::vector<double> gradient = read_values(*gpt.backend, gpt.parameters.gradients());
    const std::vector<double> weights = read_values(*gpt.backend, gpt.parameters.master());
    const auto slopes = [&](double step) {
      return central_differences(weights, step, [&](const std::vector<double>& changed) {
        gpt.parameters.set(*gpt.backend, changed);
        return gpt.loss();
      });
    };
    const std::vector<double> near = slopes(kStep);
    const std::vector<double> far = slopes(2 * kStep);
    const double rounding = difference_tolerance(kStep, 0, 500, 2);
    double largest = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const double tolerance = std::abs(far[i] - near[i]) / 2 + rounding;
      ASSERT_NEAR(gradient[i], near[i], tolerance) << "parameter " << i;
      ASSERT_LT(tolerance, 1e-4);
      largest = std::max(largest, std::abs(gradient[i]));
    }
    EXPECT_GT(largest, 0.1) << "the comparison must mean something";
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

// Both differ in the order of sums of at most 4 x 6 terms and in a few roundings of each operation:
// some 30 roundings in each of the 2 blocks' 8 operations, there and back.
TEST(Gpt, FusedAndSeparatePassesAgree) {
  for (const Precision& precision : {kFp64, kFp32}) {
    SmallGpt fused(precision, true);
    SmallGpt separate(precision, false);
    fused.differentiate();
    separate.differentiate();
    const double tolerance = 30 * 2 * 8 * 2 * unit_roundoff(precision.compute);
    EXPECT_LE(distance(fused.gradients(), separate.gradients()), tolerance) << precision.name;
    EXPECT_NEAR(fused.loss(), separate.loss(), tolerance) << precision.name;
  }
}

/// Trains on one batch for some steps: the losses.
std::vector<double> curve(const Precision& precision, bool fused, int steps) {
  const auto backend = make_cpu_backend({.threads = 2});
  Trainer trainer(*backend, workload_by_name("gpt"),
                  {.precision = precision,
                   .batch = 4,
                   .fused = fused,
                   .sizes = {{"layers", 2}, {"heads", 2}, {"width", 32}, {"sequence", 16}}});
  const Batch batch{random_tensor(*backend, Shape{4, 17}, DType::u8, 3, 0, 128), {}};
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) {
    trainer.step(*backend, batch);
    losses.push_back(trainer.loss());
  }
  return losses;
}

// ln 128 = 4.85 at the start; a batch of 64 tokens is soon known by heart.
TEST(Gpt, LossFallsAlikeInAllPrecisions) {
  constexpr int kUpdates = 40;
  const std::vector<double> exact = curve(kFp32, true, kUpdates);
  EXPECT_NEAR(exact.front(), std::log(128.0), 0.1);
  EXPECT_LT(exact.back(), 0.75 * exact.front());
  // A loss's logits are of 16-bit numbers of magnitude up to 4 after some tens of roundings each.
  for (const Precision& precision : {kBf16, kFp16}) {
    const std::vector<double> losses = curve(precision, true, kUpdates);
    for (int i = 0; i < kUpdates; ++i) {
      const auto at = static_cast<std::size_t>(i);
      EXPECT_NEAR(losses[at], exact[at], 4 * 10 * unit_roundoff(precision.compute))
          << precision.name << " step " << i;
    }
  }
}

TEST(Gpt, RepeatsBitForBit) {
  EXPECT_EQ(curve(kFp32, true, 5), curve(kFp32, true, 5));
  EXPECT_EQ(curve(kBf16, true, 5), curve(kBf16, true, 5));
}

TEST(Gpt, HoldsThePlannedMemoryAndAllocatesNothingInAStep) {
  const ModelSizes sizes{{"layers", 2}, {"heads", 3}, {"width", 24}, {"sequence", 20}};
  for (const Precision& precision : {kFp32, kBf16}) {
    for (const bool fused : {true, false}) {
      const TrainerOptions options{
          .precision = precision, .batch = 3, .fused = fused, .sizes = sizes};
      CostBackend plan;
      Trainer planned(plan, workload_by_name("gpt"), options);
      const auto backend = make_cpu_backend({.threads = 2});
      Trainer trainer(*backend, workload_by_name("gpt"), options);
      for (const MemoryKind kind : kMemoryKinds) {
        EXPECT_EQ(plan.memory()[kind], backend->memory()[kind]) << name_of(kind);
      }
      const Batch batch{random_tensor(*backend, Shape{3, 21}, DType::u8, 3, 0, 128), {}};
      trainer.step(*backend, batch);
      const MemoryUse before = backend->memory();
      trainer.step(*backend, batch);
      EXPECT_EQ(backend->memory().allocations, before.allocations);
    }
  }
}

// Products: 12 n^2 weights a block and the head's v n, 2 FLOPs each, forward and twice backward.
// Attention: t (t + 1) / 2 pairs of n numbers, two products forward and four backward.
TEST(Gpt, CostsTheFlopsOfItsProducts) {
  const ModelSizes sizes{
      {"layers", 3}, {"heads", 2}, {"width", 8}, {"sequence", 10}, {"vocabulary", 16}};
  CostBackend cost;
  Trainer trainer(cost, workload_by_name("gpt"), {.batch = 2, .sizes = sizes});
  cost.reset();
  trainer.step(cost, {ConstTensor(nullptr, Shape{2, 11}, DType::u8), {}});
  const double weights = 3 * 12 * 8 * 8 + 16 * 8;
  EXPECT_EQ(cost.total().flops, 3 * 2 * 20 * weights + 3 * 2 * 6 * (2.0 * 10 * 11 / 2 * 8));
}

TEST(Gpt, RefusesHeadsThatDoNotDivideItsWidth) {
  try {
    const Gpt gpt(workload_by_name("gpt"), {{"heads", 5}});
    FAIL() << "5 heads of 384 columns were taken";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "size \"width\" of gpt is 384; it must be a multiple of \"heads\", which is 5");
  }
}

}  // namespace
}  // namespace trainbench
