#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "cpu/cpu_backend.h"
#include "gpu/cuda_backend.h"
#include "tests/gpu/small_models.h"

// Every workload, small, trains as on the CPU in every precision: the first step's gradients,
// tensor by tensor, and the curve of losses.

namespace trainbench {
namespace {

constexpr int kSteps = 10;

const SmallModel kModels[] = {
    {"mlp", 32, {{"inputs", 64}, {"hidden", 96}, {"classes", 10}}, 5, 96, true, 10},
    // One block of each kind a stage; a weight's gradient sums over 8 x 8 x 8 pixels.
    {"resnet20",
     8,
     {{"image", 8}, {"channels", 1}, {"width", 8}, {"blocks1", 1}, {"blocks2", 1}, {"blocks3", 1}},
     15,
     512,
     true,
     10},
    {"resnet50",
     16,
     {{"image", 16},
      {"channels", 3},
      {"width", 8},
      {"blocks1", 1},
      {"blocks2", 1},
      {"blocks3", 1},
      {"blocks4", 1},
      {"classes", 10}},
     28,
     16 * 8 * 8,
     true,
     10},
    {"diffusion",
     4,
     {{"image", 8}, {"channels", 1}, {"width", 8}, {"groups", 2}, {"steps", 10}},
     30,
     4 * 8 * 8,
     false},
    {"lstm", 4, {{"embedding", 24}, {"hidden", 40}, {"sequence", 6}}, 2 * 6 + 1, 160, false},
    {"gpt", 2, {{"layers", 1}, {"heads", 2}, {"width", 32}, {"sequence", 20}}, 8, 160, false},
    // Heads as wide as the model's own; a vocabulary that no byte holds.
    {"gpt2",
     2,
     {{"layers", 2}, {"heads", 2}, {"width", 128}, {"sequence", 33}, {"vocabulary", 504}},
     15,
     512,
     false}};

struct Case {
  SmallModel model;
  Precision precision;
};

/// Double precision takes a simulator long: it is left to the smallest models.
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const SmallModel& model : kModels) {
    for (const Precision& precision : kPrecisions) {
      if (precision == kFp64 && model.depth > 13) continue;
      all.push_back({model, precision});
    }
  }
  return all;
}

class WholeModels : public testing::TestWithParam<Case> {};

/// The largest share of the tolerance that a tensor's gradient needs.
double compare_gradients(SmallModelTraining& tried, SmallModelTraining& right, double error) {
  const Parameters& a = tried.trainer.parameters();
  const Parameters& b = right.trainer.parameters();
  double used = 0;
  for (std::size_t i = 0; i < a.layout().specs().size(); ++i) {
    const std::string& name = a.layout().specs()[i].name;
    const std::vector<double> values = read_values(tried.backend, a.gradient(i));
    const std::vector<double> expected = read_values(right.backend, b.gradient(i));
    double difference = 0, norm = 0;
    for (std::size_t k = 0; k < values.size(); ++k) {
      difference += (values[k] - expected[k]) * (values[k] - expected[k]);
      norm += expected[k] * expected[k];
    }
    EXPECT_LE(std::sqrt(difference), error * std::sqrt(norm)) << name;
    EXPECT_GT(norm, 0) << name;
    used = std::max(used, std::sqrt(difference / norm) / error);
  }
  return used;
}

TEST_P(WholeModels, GradientsAndLossesAreThoseOfTheCpu) {
  const auto& [model, precision] = GetParam();
  // The CPU has no tf32: there the reference is fp32, which errs less.
  const Precision reference_precision = precision == kTf32 ? kFp32 : precision;
  const auto cpu = make_cpu_backend({.threads = 1});
  const auto gpu = make_cuda_backend();
  SmallModelTraining right(*cpu, model, reference_precision, true);
  SmallModelTraining tried(*gpu, model, precision, true);
  const double error = model.activation_error(precision);
  const double gradient_error = model.gradient_error(precision);
  double length = 0, before = 0, gradients_used = 0, losses_used = 0;
  for (int step = 0; step < kSteps; ++step) {
    const double expected = right.step();
    const double loss = tried.step();
    if (step == 0) {
      gradients_used = compare_gradients(tried, right, gradient_error);
    } else {
      length += std::abs(expected - before);
    }
    before = expected;
    // Logits are of the size of a loss; weights differ by the gradients' error of what training
    // moved them.
    const double tolerance = 2 * error * expected + gradient_error * length;
    EXPECT_NEAR(loss, expected, tolerance) << "after step " << step;
    losses_used = std::max(losses_used, std::abs(loss - expected) / tolerance);
  }
  EXPECT_GT(length, 0.1);
  std::printf("of the tolerance used: gradients %.2g, losses %.2g\n", gradients_used, losses_used);
}

INSTANTIATE_TEST_SUITE_P(Gpu, WholeModels, testing::ValuesIn(cases()), [](const auto& test) {
  return test.param.model.name + "_" + std::string(test.param.precision.name);
});

}  // namespace
}  // namespace trainbench
