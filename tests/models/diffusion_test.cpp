#include "common/models/diffusion.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include "common/check/random_tensor.h"
#include "common/cost/cost_backend.h"
#include "common/nn/trainer.h"
#include "cpu/cpu_backend.h"
#include "tests/models/diffusion_reference.h"

namespace trainbench {
namespace {

constexpr std::int64_t kBatch = 3;
constexpr std::int64_t kImage = 8;
const ModelSizes kSizes{{"image", kImage}, {"width", 4}, {"groups", 2}, {"steps", 10}};

/// A small model with a batch, on the CPU.
struct SmallDiffusion {
  SmallDiffusion(const Precision& precision, bool fused)
      : model(workload_by_name("diffusion"), kSizes),
        parameters(*backend, model.layout(), precision, 5),
        batch{random_tensor(*backend, Shape{kBatch, kImage, kImage, 1}, DType::u8, 1, 0, 256), {}},
        state(allocate_step_state(*backend, {.step = 2, .seed = 9})),
        pass{*backend, precision.math, fused, true, state} {
    model.allocate(*backend, {.batch = kBatch,
                              .compute = precision.compute,
                              .master = precision.master,
                              .training = true,
                              .fused = fused});
  }

  void differentiate() {
    model.forward(pass, parameters, batch);
    model.loss(pass, batch, state);
    model.backward(pass, parameters);
  }

  double loss() {
    model.forward(pass, parameters, batch);
    model.loss(pass, batch, state);
    double sum = 0;
    for (const double loss : read_values(*backend, model.losses())) sum += loss;
    return sum / static_cast<double>(kBatch);
  }

  std::vector<double> gradients() { return read_values(*backend, parameters.gradients()); }

  std::unique_ptr<Backend> backend = make_cpu_backend({.threads = 1});
  Diffusion model;
  Parameters parameters;
  Batch batch;
  Tensor state;
  Pass pass;
};

/// Some elements of each parameter: the first, the last and every 61st of them all.
std::vector<std::size_t> sampled(const ParameterLayout& layout) {
  std::vector<std::size_t> picked;
  for (const ParameterSpec& spec : layout.specs()) {
    const auto first = static_cast<std::size_t>(spec.offset);
    const std::size_t last = first + static_cast<std::size_t>(spec.shape.elements()) - 1;
    for (std::size_t i = first; i < last; i += 61) picked.push_back(i);
    picked.push_back(last);
  }
  return picked;
}

// A central difference with step h errs by h^2 / 6 f''' and higher terms, and so one with 2 h by
// four times that: their distance is three times the error of the first. Values are of a few
// hundred roundings of numbers near 1.
TEST(Diffusion, GradientIsTheSlopeOfTheMeanLoss) {
  constexpr double kStep = 0x1p-13;
  for (const bool fused : {true, false}) {
    SmallDiffusion small(kFp64, fused);
    small.differentiate();
    const std::vector<double> gradient = small.gradients();
    std::vector<double> weights = read_values(*small.backend, small.parameters.master());
    const auto slope = [&](std::size_t i, double h) {
      const double middle = weights[i];
      const auto loss_at = [&](double value) {
        weights[i] = value;
        small.parameters.set(*small.backend, weights);
        return small.loss();
      };
      const double difference = loss_at(middle + h) - loss_at(middle - h);
      weights[i] = middle;
      return difference / (2 * h);
    };
    const double rounding = 500 * 0x1p-53 / kStep;
    double largest = 0;
    double widest = 0;
    for (const std::size_t i : sampled(small.model.layout())) {
      const double near = slope(i, kStep);
      const double tolerance = std::abs(near - slope(i, 2 * kStep)) + rounding;
      ASSERT_NEAR(gradient[i], near, tolerance) << "parameter " << i;
      largest = std::max(largest, std::abs(near));
      widest = std::max(widest, tolerance);
    }
    EXPECT_GT(largest, 1e4 * widest) << "the comparison must mean something";
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

// Fused and separate passes differ in some roundings of each of about 40 passes on the way there
// and as many back, on sums of up to 9 x 12 terms. Group norms keep errors as large as they are,
// relative to what passes through; what is left is a factor for those that align.
TEST(Diffusion, FusedAndSeparatePassesAgree) {
  for (const Precision& precision : {kFp64, kFp32}) {
    SmallDiffusion fused(precision, true);
    SmallDiffusion separate(precision, false);
    fused.differentiate();
    separate.differentiate();
    const double tolerance = 2 * 40 * std::sqrt(9 * 12.0) * unit_roundoff(precision.compute);
    EXPECT_LE(distance(fused.gradients(), separate.gradients()), tolerance) << precision.name;
    EXPECT_NEAR(fused.loss(), separate.loss(), tolerance) << precision.name;
  }
}

TEST(Diffusion, PredictionFollowsTheDefinition) {
  SmallDiffusion small(kFp64, true);
  small.loss();
  const std::vector<double> prediction = read_values(*small.backend, small.model.logits());
  const std::vector<double> expected =
      diffusion_by_definition(small.model, small.parameters, *small.backend);
  ASSERT_EQ(prediction.size(), expected.size());
  // As above: 40 passes over sums of about a hundred terms.
  EXPECT_LE(distance(prediction, expected), 40 * 108 * 0x1p-53);
}

TEST(Diffusion, HasTheParametersOfTheTable) {
  const Workload& workload = workload_by_name("diffusion");
  const Diffusion model(workload, ModelSizes{});
  EXPECT_EQ(model.layout().parameter_count(), 4805825);
}

/// Losses of some steps on images that are black: a network soon tells the noise from them.
std::vector<double> curve(const Precision& precision, int steps) {
  const auto backend = make_cpu_backend({.threads = 2});
  Workload workload = workload_by_name("diffusion");
  workload.learning_rate = 5e-3;
  Trainer trainer(*backend, workload,
                  {.precision = precision,
                   .batch = kBatch,
                   .sizes = {{"image", kImage}, {"width", 8}, {"groups", 2}}});
  const Tensor images =
      backend->allocate(Shape{kBatch, kImage, kImage, 1}, DType::u8, MemoryKind::workspace);
  backend->fill_zero(images);
  std::vector<double> losses;
  for (int i = 0; i < steps; ++i) {
    trainer.step(*backend, Batch{images, {}});
    losses.push_back(trainer.loss());
  }
  return losses;
}

double mean_of(const std::vector<double>& values, std::size_t first, std::size_t last) {
  double sum = 0;
  for (std::size_t i = first; i < last; ++i) sum += values[i];
  return sum / static_cast<double>(last - first);
}

TEST(Diffusion, LossFallsInEveryPrecision) {
  for (const Precision& precision : {kFp64, kFp32, kBf16, kFp16}) {
    const std::vector<double> losses = curve(precision, 60);
    EXPECT_LT(mean_of(losses, 50, 60), 0.5 * mean_of(losses, 0, 10)) << precision.name;
  }
}

TEST(Diffusion, RepeatsBitForBit) { EXPECT_EQ(curve(kFp32, 4), curve(kFp32, 4)); }

// The noise and the times are the same bits in both; bf16 rounds each of 40 passes to 2^-8 of its
// values, at random: a loss near 1 moves by twice sqrt(40) of that at most.
TEST(Diffusion, Bf16FollowsFp32) {
  const std::vector<double> single = curve(kFp32, 20);
  const std::vector<double> half = curve(kBf16, 20);
  for (std::size_t i = 0; i < single.size(); ++i) {
    EXPECT_NEAR(half[i], single[i], 2 * std::sqrt(40.0) * 0x1p-8 * single[i]) << "step " << i;
  }
}

TEST(Diffusion, PlansTheMemoryThatTheCpuHolds) {
  for (const Precision& precision : {kFp32, kBf16}) {
    const TrainerOptions options{.precision = precision, .batch = kBatch, .sizes = kSizes};
    CostBackend plan;
    const Trainer planned(plan, workload_by_name("diffusion"), options);
    const auto cpu = make_cpu_backend({.threads = 1});
    const Trainer real(*cpu, workload_by_name("diffusion"), options);
    for (const MemoryKind kind : kMemoryKinds) {
      EXPECT_EQ(plan.memory()[kind], cpu->memory()[kind]) << precision.name << " " << name_of(kind);
    }
  }
}

TEST(Diffusion, AStepAllocatesNothingAfterTheFirst) {
  const auto backend = make_cpu_backend({.threads = 2});
  Trainer trainer(*backend, workload_by_name("diffusion"), {.batch = kBatch, .sizes = kSizes});
  const Batch batch{random_tensor(*backend, Shape{kBatch, kImage, kImage, 1}, DType::u8, 1, 0, 256),
                    {}};
  trainer.step(*backend, batch);
  const MemoryUse before = backend->memory();
  trainer.step(*backend, batch);
  EXPECT_EQ(backend->memory().allocations, before.allocations);
  EXPECT_EQ(backend->memory().total(), before.total());
}

std::string refusal(const ModelSizes& sizes) {
  try {
    const Diffusion model(workload_by_name("diffusion"), sizes);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Diffusion, RefusesSizesThatDoNotFit) {
  EXPECT_EQ(refusal({{"image", 30}}),
            "size \"image\" of diffusion is 30; it must be a multiple of 4: it is halved twice");
  EXPECT_EQ(refusal({{"width", 7}}),
            "size \"width\" of diffusion is 7; it must be even: half of it are sines of the time");
  EXPECT_EQ(refusal({{"groups", 5}}),
            "size \"groups\" of diffusion is 5; it must be a divisor of width, 64");
}

}  // namespace
}  // namespace trainbench
