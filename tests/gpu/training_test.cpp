#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "common/check/bounds.h"
#include "common/check/check_backend.h"
#include "common/host_values.h"
#include "cpu/cpu_backend.h"
#include "gpu/cuda_backend.h"
#include "tests/gpu/small_training.h"

namespace trainbench {
namespace {

constexpr int kSteps = 20;

/// What a training run leaves: compared bit for bit, or within a tolerance.
struct History {
  std::vector<double> losses;
  std::vector<double> weights;
  double largest_logit = 0;
};

void note(Trainer& trainer, Backend& backend, History& history) {
  history.losses.push_back(trainer.loss());
  for (const double logit : read_values(backend, trainer.model().logits())) {
    history.largest_logit = std::max(history.largest_logit, std::abs(logit));
  }
}

/// Steps described one by one.
History eager(Backend& backend, const SmallTraining& training) {
  Trainer trainer = training.make(backend);
  const std::vector<Batch> batches = training.resident_batches(backend);
  History history;
  for (std::size_t step = 0; step < kSteps; ++step) {
    trainer.step(backend, batches[step % batches.size()]);
    note(trainer, backend, history);
  }
  history.weights = read_values(backend, trainer.parameters().master());
  return history;
}

/// The same steps, replayed from the second time on that a batch comes.
History replayed(Backend& backend, const SmallTraining& training) {
  Trainer trainer = training.make(backend);
  const std::vector<Batch> batches = training.resident_batches(backend);
  std::vector<std::unique_ptr<Recording>> recordings;
  History history;
  for (std::size_t step = 0; step < kSteps; ++step) {
    const std::size_t index = step % batches.size();
    if (step < batches.size()) {
      trainer.step(backend, batches[index]);
    } else {
      if (recordings.size() == index) {
        recordings.push_back(backend.record([&, index] { trainer.step(backend, batches[index]); }));
      }
      recordings[index]->replay();
    }
    note(trainer, backend, history);
  }
  history.weights = read_values(backend, trainer.parameters().master());
  return history;
}

/// Relative error of what one layer hands on: the rounding of what it stores and, of its products'
/// sums, the standard deviation of summation_error() (kSpread of them bound the largest of many
/// elements; a loss is a mean over samples). tf32 cuts both operands of every product besides.
double layer_error(const Precision& precision, std::int64_t terms) {
  return unit_roundoff(precision.compute) + 2 * operand_error(precision.math) +
         std::sqrt(static_cast<double>(terms)) * unit_roundoff(precision.master);
}

/// How far the losses of two devices may be apart after each step, to first order in the error of
/// the arithmetic. Logits differ by `error` times the largest; the loss's gradient with respect to
/// a sample's logits has 1-norm <= 2. Weights differ by `error` times what training has moved them,
/// which has moved the loss by at most the length of its curve so far. Both devices err.
std::vector<double> tolerances(const SmallTraining& training, const History& reference) {
  const std::int64_t terms = std::max({training.inputs, training.hidden, training.batch});
  const double error = 2 * training.layers * layer_error(training.precision, terms);
  std::vector<double> tolerance;
  double length = 0;
  for (std::size_t step = 0; step < reference.losses.size(); ++step) {
    if (step > 0) length += std::abs(reference.losses[step] - reference.losses[step - 1]);
    tolerance.push_back(error * (2 * reference.largest_logit + length));
  }
  return tolerance;
}

/// A model with who multiplies its matrices.
struct Setup {
  std::string name;
  std::string provider;
  SmallTraining training;
};

/// A residual network with each kind of block; a weight's gradient sums over 8 x 8 x 8 pixels.
const SmallTraining kSmallResnet{.inputs = 8 * 8,
                                 .hidden = 8 * 8 * 8,
                                 .batch = 8,
                                 .workload = "resnet20",
                                 .sizes = {{"image", 8},
                                           {"channels", 1},
                                           {"width", 8},
                                           {"blocks1", 1},
                                           {"blocks2", 1},
                                           {"blocks3", 1}},
                                 .layers = 8};

const Setup kMlps[] = {{"mlp_vendor", "vendor", {}}, {"mlp_own", "own", {}}};
const Setup kResnets[] = {{"resnet20", "own", kSmallResnet}};

std::string setup_name(const testing::TestParamInfo<std::tuple<Setup, Precision>>& test) {
  return std::get<0>(test.param).name + "_" + std::string(std::get<1>(test.param).name);
}

class EveryPrecision : public testing::TestWithParam<std::tuple<Setup, Precision>> {
 protected:
  const Precision& precision() const { return std::get<1>(GetParam()); }
  SmallTraining training_in(const Precision& precision, bool fused = true) const {
    SmallTraining training = std::get<0>(GetParam()).training;
    training.precision = precision;
    training.fused = fused;
    return training;
  }
  std::unique_ptr<Backend> make_gpu() const {
    return make_cuda_backend({.provider = std::get<0>(GetParam()).provider});
  }
};

TEST_P(EveryPrecision, EachOperationOfAStepIsRight) {
  for (const bool fused : {true, false}) {
    const auto backend = make_gpu();
    CheckBackend check(*backend);
    const SmallTraining training = training_in(precision(), fused);
    Trainer trainer = training.make(*backend);
    const std::vector<Batch> batches = training.resident_batches(*backend);
    for (const Batch& batch : batches) trainer.step(check, batch);
    EXPECT_TRUE(check.summary().passed) << check.summary().worst;
    EXPECT_GT(check.summary().outputs, 10000);
  }
}

TEST_P(EveryPrecision, LossesAreThoseOfTheCpu) {
  // The CPU has no tf32: there the reference is fp32, which errs less.
  const SmallTraining reference_training = training_in(precision() == kTf32 ? kFp32 : precision());
  const auto cpu = make_cpu_backend({.threads = 1});
  const History reference = eager(*cpu, reference_training);
  ASSERT_LT(reference.losses.back(), 0.9 * reference.losses.front());

  const SmallTraining training = training_in(precision());
  const std::vector<double> tolerance = tolerances(training, reference);
  const auto gpu = make_gpu();
  const History history = eager(*gpu, training);
  double used = 0;
  for (std::size_t step = 0; step < history.losses.size(); ++step) {
    const double error = std::abs(history.losses[step] - reference.losses[step]);
    EXPECT_LE(error, tolerance[step]) << "after step " << step;
    used = std::max(used, error / tolerance[step]);
  }
  RecordProperty("part_of_tolerance", std::to_string(used));
  std::printf("largest part of the tolerance used: %.2g\n", used);
}

TEST_P(EveryPrecision, AReplayedStepGivesTheBitsOfAnEagerOne) {
  const SmallTraining training = training_in(precision());
  const auto first = make_gpu();
  const auto second = make_gpu();
  const History a = eager(*first, training);
  const History b = replayed(*second, training);
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.weights, b.weights);
}

TEST_P(EveryPrecision, AStepAllocatesNothing) {
  const SmallTraining training = training_in(precision());
  const auto backend = make_gpu();
  Trainer trainer = training.make(*backend);
  const std::vector<Batch> batches = training.resident_batches(*backend);
  const auto free_bytes = [&] {
    backend->synchronize();
    std::size_t free = 0;
    std::size_t total = 0;
    EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
    return free;
  };
  // The first step may load code.
  trainer.step(*backend, batches[0]);
  const std::int64_t allocations = backend->memory().allocations;
  const std::size_t free = free_bytes();
  for (const Batch& batch : batches) trainer.step(*backend, batch);
  EXPECT_EQ(backend->memory().allocations, allocations);
  EXPECT_EQ(free_bytes(), free);
}

INSTANTIATE_TEST_SUITE_P(Mlp, EveryPrecision,
                         testing::Combine(testing::ValuesIn(kMlps), testing::ValuesIn(kPrecisions)),
                         setup_name);
// Double precision takes a simulator long.
INSTANTIATE_TEST_SUITE_P(Resnet, EveryPrecision,
                         testing::Combine(testing::ValuesIn(kResnets),
                                          testing::Values(kFp32, kTf32, kFp16, kBf16)),
                         setup_name);

TEST(GpuTraining, Fp32IsNotTf32) {
  const SmallTraining training{.precision = kFp32};
  const auto cpu = make_cpu_backend({.threads = 1});
  const History reference = eager(*cpu, training);
  const std::vector<double> tolerance = tolerances(training, reference);
  const auto gpu = make_cuda_backend();
  const History tf32 = eager(*gpu, {.precision = kTf32});
  int outside = 0;
  for (std::size_t step = 0; step < tf32.losses.size(); ++step) {
    outside += std::abs(tf32.losses[step] - reference.losses[step]) > tolerance[step];
  }
  EXPECT_GT(outside, kSteps / 2) << "the tolerance of fp32 is one that only fp32 meets";
}

}  // namespace
}  // namespace trainbench
