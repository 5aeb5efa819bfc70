#include "common/nn/linear.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "common/check/random_tensor.h"
#include "cpu/cpu_backend.h"
#include "tests/finite_difference.h"

namespace trainbench {
namespace {

constexpr std::int64_t kBatch = 5;
constexpr std::int64_t kIn = 7;
constexpr std::int64_t kOut = 6;
constexpr double kStep = 0x1p-14;

/// A layer in double with a loss on top: sum of weights * output, so that the gradient of the
/// output is `weights`.
class LinearTest : public testing::TestWithParam<std::tuple<Activation, bool>> {
 protected:
  LinearTest()
      : layer_(layout_, "layer", kIn, kOut, activation()),
        parameters_(*backend_, layout_, kFp64, 3),
        input_(random_tensor(*backend_, Shape{kBatch, kIn}, DType::f64, 1)),
        weights_(random_values(kBatch * kOut, 2)) {
    layer_.allocate(
        *backend_,
        {.batch = kBatch, .compute = DType::f64, .master = DType::f64, .training = true});
  }

  Activation activation() const { return std::get<0>(GetParam()); }
  Pass pass() { return {*backend_, MathMode::exact, std::get<1>(GetParam())}; }

  double loss() {
    const std::vector<double> y =
        read_values(*backend_, layer_.forward(pass(), parameters_, input_));
    return std::inner_product(y.begin(), y.end(), weights_.begin(), 0.0);
  }

  /// Forward and backward; gradients of the parameters lie in parameters_, of the input in `dx`.
  void differentiate(Tensor dx) {
    layer_.forward(pass(), parameters_, input_);
    write_values(*backend_, layer_.output_gradient(), weights_);
    if (activation() != Activation::none) {
      backend_->activation_backward(activation(), layer_.saved().saved, layer_.output_gradient());
    }
    layer_.backward(pass(), parameters_, layer_.output_gradient(), dx, {});
  }

  /// Third derivatives by a weight or an input: |gelu'''| < 1.6 at arguments changed by factors of
  /// at most 1, summed over the batch or the outputs. The loss is a sum of 30 numbers of 8 terms,
  /// all below 2.
  static double tolerance() { return difference_tolerance(kStep, 1.6 * 6, 38, 60); }

  std::unique_ptr<Backend> backend_ = make_cpu_backend({.threads = 1});
  ParameterLayout layout_;
  Linear layer_;
  Parameters parameters_;
  Tensor input_;
  std::vector<double> weights_;
};

void expect_near(const std::vector<double>& actual, const std::vector<double>& expected,
                 double tolerance) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], tolerance) << "element " << i;
  }
}

TEST_P(LinearTest, ParameterGradientsAreSlopesOfTheLoss) {
  differentiate({});
  const std::vector<double> gradient = read_values(*backend_, parameters_.gradients());
  const std::vector<double> weights = read_values(*backend_, parameters_.master());
  // The gaps of the flat buffer change nothing: their slope and their gradient are zero.
  const auto slopes = central_differences(weights, kStep, [&](const std::vector<double>& changed) {
    parameters_.set(*backend_, changed);
    return loss();
  });
  expect_near(gradient, slopes, tolerance());
}

TEST_P(LinearTest, InputGradientIsTheSlopeOfTheLoss) {
  const Tensor dx = backend_->allocate(input_.shape, DType::f64, MemoryKind::workspace);
  differentiate(dx);
  const std::vector<double> gradient = read_values(*backend_, dx);
  const std::vector<double> x = read_values(*backend_, input_);
  const auto slopes = central_differences(x, kStep, [&](const std::vector<double>& changed) {
    write_values(*backend_, input_, changed);
    return loss();
  });
  expect_near(gradient, slopes, tolerance());
}

// y = activation(x W^T + b) by its definition, to K + 3 roundings of numbers below K + 1 and ten
// of GELU's.
TEST_P(LinearTest, OutputFollowsTheDefinition) {
  const std::vector<double> y = read_values(*backend_, layer_.forward(pass(), parameters_, input_));
  const std::vector<double> x = read_values(*backend_, input_);
  const std::vector<double> w = read_values(*backend_, parameters_.weight(0));
  const std::vector<double> b = read_values(*backend_, parameters_.weight(1));
  for (std::size_t i = 0; i < static_cast<std::size_t>(kBatch); ++i) {
    for (std::size_t j = 0; j < static_cast<std::size_t>(kOut); ++j) {
      double z = b[j];
      for (std::size_t l = 0; l < static_cast<std::size_t>(kIn); ++l) {
        z += x[i * kIn + l] * w[j * kIn + l];
      }
      double expected = z;
      if (activation() == Activation::relu) expected = z > 0 ? z : 0;
      if (activation() == Activation::gelu) {
        expected =
            0.5 * z * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (z + 0.044715 * z * z * z)));
      }
      if (activation() == Activation::silu) expected = z / (1 + std::exp(-z));
      EXPECT_NEAR(y[i * kOut + j], expected, (kIn + 3 + 10) * 0x1p-53 * (kIn + 1));
    }
  }
}

TEST(Linear, WithoutTrainingKeepsNothingForABackwardPass) {
  const std::unique_ptr<Backend> backend = make_cpu_backend({.threads = 1});
  ParameterLayout layout;
  Linear layer(layout, "layer", kIn, kOut, Activation::relu);
  layer.allocate(*backend, {.batch = kBatch, .training = false});
  EXPECT_TRUE(layer.output_gradient().absent());
  EXPECT_TRUE(layer.saved().saved.absent());
  EXPECT_EQ(backend->memory()[MemoryKind::activations], kBatch * kOut * sizeof(float));
}

INSTANTIATE_TEST_SUITE_P(Activations, LinearTest,
                         testing::Combine(testing::Values(Activation::none, Activation::relu,
                                                          Activation::gelu, Activation::silu),
                                          testing::Bool()));

}  // namespace
}  // namespace trainbench
