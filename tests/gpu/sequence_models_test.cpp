#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "common/check/check_backend.h"
#include "common/host_values.h"
#include "common/nn/trainer.h"
#include "cpu/cpu_backend.h"
#include "gpu/cuda_backend.h"
#include "tests/gpu/device_values.h"

// Models of sequences, small, in every precision: each operation of a step is right, the first
// step's gradients and the losses are those of the CPU, and a replayed step gives an eager one's
// bits.

namespace trainbench {
namespace {

constexpr int kSteps = 10;

struct SmallModel {
  std::string name;
  std::int64_t batch;
  std::int64_t sequence;
  ModelSizes sizes;
  double depth;  ///< matrix products and nonlinearities that an activation passes, about
};

const SmallModel kModels[] = {
    {"lstm", 4, 6, {{"embedding", 24}, {"hidden", 40}, {"sequence", 6}}, 2 * 6 + 1},
    {"gpt", 2, 20, {{"layers", 1}, {"heads", 2}, {"width", 32}, {"sequence", 20}}, 8}};

struct Case {
  SmallModel model;
  Precision precision;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const SmallModel& model : kModels) {
    for (const Precision& precision : kPrecisions) all.push_back({model, precision});
  }
  return all;
}

struct Training {
  Training(Backend& device, const SmallModel& model, const Precision& precision, bool fused)
      : backend(device),
        trainer(
            device, workload_by_name(model.name),
            {.precision = precision, .batch = model.batch, .fused = fused, .sizes = model.sizes}) {
    const Shape window{model.batch, model.sequence + 1};
    const Tensor tokens = device.allocate(window, DType::u8, MemoryKind::workspace);
    std::vector<double> values;
    for (std::int64_t i = 0; i < window.elements(); ++i) {
      values.push_back(static_cast<double>(i * i % 89));
    }
    write_values(device, tokens, values);
    batch.samples = tokens;
  }
  double step() {
    trainer.step(backend, batch);
    return trainer.loss();
  }

  Backend& backend;
  Trainer trainer;
  Batch batch;
};

/// Relative error of an activation: of each operation that it passes, the rounding of what it
/// stores and the standard deviation of its sums; tf32 cuts both operands of every product besides.
double relative_error(const SmallModel& model, const Precision& precision) {
  constexpr double kTerms = 160;  // of the longest product
  return 2 * model.depth *
         (unit_roundoff(precision.compute) + 2 * operand_error(precision.math) +
          std::sqrt(kTerms) * unit_roundoff(precision.master));
}

class SequenceModels : public testing::TestWithParam<Case> {
 protected:
  const SmallModel& model() const { return GetParam().model; }
  const Precision& precision() const { return GetParam().precision; }
};

TEST_P(SequenceModels, EachOperationOfAStepIsRight) {
  for (const bool fused : {true, false}) {
    const auto backend = make_cuda_backend();
    CheckBackend check(*backend);
    Training training(*backend, model(), precision(), fused);
    for (int step = 0; step < 2; ++step) training.trainer.step(check, training.batch);
    EXPECT_TRUE(check.summary().passed) << check.summary().worst;
    EXPECT_GT(check.summary().outputs, 10000);
  }
}

TEST_P(SequenceModels, GradientsAndLossesAreThoseOfTheCpu) {
  const Precision reference_precision = precision() == kTf32 ? kFp32 : precision();
  const auto cpu = make_cpu_backend({.threads = 1});
  const auto gpu = make_cuda_backend();
  Training right(*cpu, model(), reference_precision, true);
  Training tried(*gpu, model(), precision(), true);
  const double error = relative_error(model(), precision());
  double length = 0, before = 0;
  for (int step = 0; step < kSteps; ++step) {
    const double expected = right.step();
    const double loss = tried.step();
    if (step == 0) {
      const Parameters& parameters = tried.trainer.parameters();
      const auto& specs = parameters.layout().specs();
      for (std::size_t i = 0; i < specs.size(); ++i) {
        const std::vector<double> a = read_values(*gpu, parameters.gradient(i));
        const std::vector<double> b = read_values(*cpu, right.trainer.parameters().gradient(i));
        double difference = 0, norm = 0;
        for (std::size_t k = 0; k < a.size(); ++k) {
          difference += (a[k] - b[k]) * (a[k] - b[k]);
          norm += b[k] * b[k];
        }
        EXPECT_LE(std::sqrt(difference), error * std::sqrt(norm)) << specs[i].name;
        EXPECT_GT(norm, 0) << specs[i].name;
      }
    } else {
      length += std::abs(expected - before);
    }
    before = expected;
    // Logits are of the size of a loss; weights differ by `error` of what training moved them.
    EXPECT_NEAR(loss, expected, error * (2 * expected + length)) << "after step " << step;
  }
  EXPECT_GT(length, 0.1);
}

TEST_P(SequenceModels, AReplayedStepGivesTheBitsOfAnEagerOne) {
  const auto first = make_cuda_backend();
  const auto second = make_cuda_backend();
  Training eager(*first, model(), precision(), true);
  Training replayed(*second, model(), precision(), true);
  std::vector<double> expected, losses;
  std::unique_ptr<Recording> recording;
  for (int step = 0; step < 4; ++step) {
    expected.push_back(eager.step());
    if (step == 0) {
      losses.push_back(replayed.step());
      continue;
    }
    if (!recording) {
      recording = second->record([&] { replayed.trainer.step(replayed.backend, replayed.batch); });
    }
    recording->replay();
    losses.push_back(replayed.trainer.loss());
  }
  EXPECT_EQ(losses, expected);
  EXPECT_EQ(read_values(*second, replayed.trainer.parameters().master()),
            read_values(*first, eager.trainer.parameters().master()));
}

INSTANTIATE_TEST_SUITE_P(Gpu, SequenceModels, testing::ValuesIn(cases()), [](const auto& test) {
  return test.param.model.name + "_" + std::string(test.param.precision.name);
});

}  // namespace
}  // namespace trainbench
