#include "common/nn/lstm.h"

#include <gtest/gtest.h>

#include <numeric>

#include "common/check/random_tensor.h"
#include "cpu/cpu_backend.h"
#include "tests/finite_difference.h"

namespace trainbench {
namespace {

constexpr std::int64_t kSteps = 4;
constexpr std::int64_t kBatch = 3;
constexpr std::int64_t kIn = 5;
constexpr std::int64_t kUnits = 4;
constexpr double kStep = 0x1p-14;

using Values = std::vector<double>;

/// A layer in double with a loss on top: sum of weights * output, so that the gradient of the
/// output is `weights`.
class LstmLayerTest : public testing::TestWithParam<bool> {
 protected:
  LstmLayerTest()
      : layer_(layout_, "lstm", kIn, kUnits),
        parameters_(*backend_, layout_, kFp64, 3),
        input_(random_tensor(*backend_, Shape{kSteps, kBatch, kIn}, DType::f64, 1)),
        dx_(backend_->allocate(input_.shape, DType::f64, MemoryKind::workspace)),
        weights_(random_values(kSteps * kBatch * kUnits, 2)) {
    layer_.allocate(
        *backend_, {.batch = kBatch, .compute = DType::f64, .master = DType::f64, .training = true},
        kSteps);
  }

  Pass pass() { return {*backend_, MathMode::exact, GetParam()}; }
  Values output() { return read_values(*backend_, layer_.forward(pass(), parameters_, input_)); }
  double loss() {
    const Values y = output();
    return std::inner_product(y.begin(), y.end(), weights_.begin(), 0.0);
  }
  void differentiate() {
    layer_.forward(pass(), parameters_, input_);
    write_values(*backend_, layer_.output_gradient(), weights_);
    layer_.backward(pass(), parameters_, dx_);
  }
  /// Third derivatives by a weight or input: those of the gates are below 2, by arguments moved by
  /// factors of at most 1, summed over the outputs of all steps, which reach one another. The loss
  /// is a sum of 48 numbers below 1 of a few tens of roundings a step.
  static double tolerance() { return difference_tolerance(kStep, 2 * 48 * kSteps, 40 * 4, 48); }

  void expect_slopes(const Values& gradient, const Values& slopes) {
    ASSERT_EQ(gradient.size(), slopes.size());
    double largest = 0;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      ASSERT_NEAR(gradient[i], slopes[i], tolerance()) << "element " << i;
      largest = std::max(largest, std::abs(gradient[i]));
    }
    EXPECT_GT(largest, 1e3 * tolerance()) << "the comparison must mean something";
  }

  std::unique_ptr<Backend> backend_ = make_cpu_backend({.threads = 1});
  ParameterLayout layout_;
  Lstm layer_;
  Parameters parameters_;
  Tensor input_;
  Tensor dx_;
  Values weights_;
};

TEST_P(LstmLayerTest, ParameterGradientsAreSlopesOfTheLoss) {
  differentiate();
  expect_slopes(read_values(*backend_, parameters_.gradients()),
                central_differences(read_values(*backend_, parameters_.master()), kStep,
                                    [&](const Values& changed) {
                                      parameters_.set(*backend_, changed);
                                      return loss();
                                    }));
}

TEST_P(LstmLayerTest, InputGradientIsTheSlopeOfTheLoss) {
  differentiate();
  expect_slopes(
      read_values(*backend_, dx_),
      central_differences(read_values(*backend_, input_), kStep, [&](const Values& changed) {
        write_values(*backend_, input_, changed);
        return loss();
      }));
}

TEST_P(LstmLayerTest, OutputsFollowTheDefinition) {
  const Values x = read_values(*backend_, input_);
  const Values w = read_values(*backend_, parameters_.weight(0));
  const Values u = read_values(*backend_, parameters_.weight(1));
  const Values bias = read_values(*backend_, parameters_.weight(2));
  const Values y = output();
  constexpr auto kH = static_cast<std::size_t>(kUnits);
  Values hidden(kBatch * kH, 0), cells(kBatch * kH, 0);
  const auto logistic = [](double a) { return 1 / (1 + std::exp(-a)); };
  for (std::size_t t = 0; t < kSteps; ++t) {
    const Values before = hidden;
    for (std::size_t b = 0; b < kBatch; ++b) {
      for (std::size_t j = 0; j < kH; ++j) {
        double gate[4];
        for (std::size_t k = 0; k < 4; ++k) {
          const std::size_t row = k * kH + j;
          gate[k] = bias[row];
          for (std::size_t l = 0; l < kIn; ++l) {
            gate[k] += w[row * kIn + l] * x[(t * kBatch + b) * kIn + l];
          }
          for (std::size_t l = 0; l < kH; ++l) gate[k] += u[row * kH + l] * before[b * kH + l];
        }
        double& cell = cells[b * kH + j];
        cell = logistic(gate[1]) * cell + logistic(gate[0]) * std::tanh(gate[2]);
        hidden[b * kH + j] = logistic(gate[3]) * std::tanh(cell);
        // Sums of ten terms below 1 a gate, a few roundings more a step.
        EXPECT_NEAR(y[(t * kBatch + b) * kH + j], hidden[b * kH + j], 200 * 0x1p-53);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fusion, LstmLayerTest, testing::Bool(),
                         [](const auto& each) { return each.param ? "fused" : "separate"; });

}  // namespace
}  // namespace trainbench
