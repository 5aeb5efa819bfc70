#include "common/models/mlp.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "common/check/random_tensor.h"
#include "common/models/workload.h"
#include "cpu/cpu_backend.h"
#include "tests/finite_difference.h"

namespace trainbench {
namespace {

constexpr std::int64_t kBatch = 5;
constexpr std::int64_t kInputs = 12;
constexpr std::int64_t kHidden = 9;
constexpr std::int64_t kClasses = 4;
constexpr float kScale = 0.011f;
constexpr float kShift = -0.8f;
const ModelSizes kSizes{
    {"inputs", kInputs}, {"hidden", kHidden}, {"layers", 3}, {"classes", kClasses}};

Workload scaled_workload() {
  Workload workload = workload_by_name("mlp");
  workload.input_scale = kScale;
  workload.input_shift = kShift;
  return workload;
}

/// A small model with a batch, on the CPU.
struct SmallMlp {
  explicit SmallMlp(const Precision& precision, bool fused)
      : model(scaled_workload(), kSizes),
        parameters(*backend, model.layout(), precision, 5),
        batch{random_tensor(*backend, Shape{kBatch, 3, 4, 1}, DType::u8, 1, 0, 256),
              random_tensor(*backend, Shape{kBatch}, DType::i32, 2, 0, kClasses)},
        state(allocate_step_state(*backend, {})),
        pass{*backend, precision.math, fused} {
    model.allocate(*backend, {.batch = kBatch,
                              .compute = precision.compute,
                              .master = precision.master,
                              .training = true});
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
  Mlp model;
  Parameters parameters;
  Batch batch;
  Tensor state;
  Pass pass;
};

// Third derivatives of the mean loss by one weight: softmax's are below 1, times the cube of what a
// weight moves a logit by, below 3 here (inputs within 2, weights within 1). Values are of a few
// tens of roundings. A unit that ReLU switches within h of its zero would show as a difference of
// order 1.
TEST(Mlp, GradientIsTheSlopeOfTheMeanLoss) {
  constexpr double kStep = 0x1p-16;
  for (const bool fused : {true, false}) {
    SmallMlp mlp(kFp64, fused);
    mlp.differentiate();
    const std::vector<double> gradient = mlp.gradients();
    const std::vector<double> weights = read_values(*mlp.backend, mlp.parameters.master());
    const auto slopes =
        central_differences(weights, kStep, [&](const std::vector<double>& changed) {
          mlp.parameters.set(*mlp.backend, changed);
          return mlp.loss();
        });
    const double tolerance = difference_tolerance(kStep, 27, 60, 3);
    double largest = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      ASSERT_NEAR(gradient[i], slopes[i], tolerance) << "parameter " << i;
      largest = std::max(largest, std::abs(gradient[i]));
    }
    EXPECT_GT(largest, 1e5 * tolerance) << "the comparison must mean something";
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

// Fused and separate passes differ in the order of a sum, below k roundings, and in three roundings
// of each layer's output (product, bias, activation), on the way there and back through three
// layers. Random errors pass a layer without growing; a factor of 4 is left for those that are not.
// No unit of the 90 is so close to zero, relative to its inputs, that 2^-24 decides its sign.
TEST(Mlp, FusedAndSeparatePassesAgree) {
  for (const Precision& precision : {kFp64, kFp32}) {
    SmallMlp fused(precision, true);
    SmallMlp separate(precision, false);
    fused.differentiate();
    separate.differentiate();
    const double tolerance = 4 * 2 * 3 * (kInputs + 3) * unit_roundoff(precision.compute);
    EXPECT_LE(distance(fused.gradients(), separate.gradients()), tolerance) << precision.name;
    EXPECT_NEAR(fused.loss(), separate.loss(), tolerance * 3) << precision.name;
  }
}

// In 16 bits rounding may switch a unit, so only the loss is compared: logits of magnitude about 1
// err by three roundings a layer, a loss by at most twice that.
TEST(Mlp, FusedAndSeparateLossesAgreeInSixteenBits) {
  for (const Precision& precision : {kFp16, kBf16}) {
    SmallMlp fused(precision, true);
    SmallMlp separate(precision, false);
    const double tolerance = 2 * 3 * 3 * unit_roundoff(precision.compute);
    EXPECT_NEAR(fused.loss(), separate.loss(), tolerance) << precision.name;
  }
}

/// The whole model by its definition, from bytes to logits.
std::vector<double> logits_by_definition(SmallMlp& mlp) {
  std::vector<double> x = read_values(*mlp.backend, mlp.batch.samples);
  for (double& value : x) value = value * static_cast<double>(kScale) + static_cast<double>(kShift);
  for (std::size_t layer = 0; layer < 3; ++layer) {
    const ConstTensor weight = mlp.parameters.weight(2 * layer);
    const std::vector<double> w = read_values(*mlp.backend, weight);
    const std::vector<double> b = read_values(*mlp.backend, mlp.parameters.weight(2 * layer + 1));
    const auto out = static_cast<std::size_t>(weight.shape[0]);
    const auto in = static_cast<std::size_t>(weight.shape[1]);
    std::vector<double> y;
    for (std::size_t row = 0; row < static_cast<std::size_t>(kBatch); ++row) {
      for (std::size_t j = 0; j < out; ++j) {
        double sum = b[j];
        for (std::size_t l = 0; l < in; ++l) sum += x[row * in + l] * w[j * in + l];
        y.push_back(layer < 2 && sum < 0 ? 0 : sum);
      }
    }
    x = std::move(y);
  }
  return x;
}

TEST(Mlp, LogitsFollowTheDefinition) {
  SmallMlp mlp(kFp64, true);
  mlp.loss();
  const std::vector<double> logits = read_values(*mlp.backend, mlp.model.logits());
  const std::vector<double> expected = logits_by_definition(mlp);
  ASSERT_EQ(logits.size(), expected.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    // Three layers, k + 3 roundings each, of numbers below k.
    EXPECT_NEAR(logits[i], expected[i], 3 * (kInputs + 3) * 0x1p-53 * kInputs);
  }
}

TEST(Mlp, HasTheParametersOfItsLayers) {
  const Mlp mlp(scaled_workload(), {});
  const std::vector<ParameterSpec>& specs = mlp.layout().specs();
  ASSERT_EQ(specs.size(), 6u);
  EXPECT_EQ(specs[0].name, "linear1.weight");
  EXPECT_EQ(specs[0].shape, Shape({2048, 784}));
  EXPECT_EQ(specs[1].shape, Shape({2048}));
  EXPECT_EQ(specs[2].shape, Shape({2048, 2048}));
  EXPECT_EQ(specs[4].shape, Shape({10, 2048}));
  EXPECT_EQ(specs[5].name, "linear3.bias");
  EXPECT_EQ(mlp.layout().parameter_count(),
            784 * 2048 + 2048 + 2048 * 2048 + 2048 + 2048 * 10 + 10);
  for (const std::size_t i : {0, 1})
    EXPECT_DOUBLE_EQ(specs[i].initial.spread, 1 / std::sqrt(784.0));
  for (const std::size_t i : {2, 3, 4, 5})
    EXPECT_DOUBLE_EQ(specs[i].initial.spread, 1 / std::sqrt(2048.0));
}

TEST(Mlp, OneLayerIsALinearClassifier) {
  const Mlp mlp(scaled_workload(), {{"layers", 1}, {"inputs", 6}, {"classes", 3}});
  ASSERT_EQ(mlp.layout().specs().size(), 2u);
  EXPECT_EQ(mlp.layout().specs()[0].shape, Shape({3, 6}));
}

std::string refusal(const ModelSizes& sizes) {
  try {
    const Mlp mlp(scaled_workload(), sizes);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(Mlp, RefusesSizesThatItDoesNotHave) {
  EXPECT_EQ(refusal({{"width", 3}}),
            "model mlp has no size \"width\"; it has classes, hidden, inputs, layers");
  EXPECT_EQ(refusal({{"hidden", 0}}), "size \"hidden\" of mlp is 0; it must be from 1 to 1048576");
  EXPECT_EQ(refusal({{"layers", -2}}), "size \"layers\" of mlp is -2; it must be from 1 to 256");
}

}  // namespace
}  // namespace trainbench
