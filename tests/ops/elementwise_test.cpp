#include <limits>

#include "tests/ops/op_test.h"

namespace trainbench {
namespace {

struct Extents {
  std::int64_t m, n;
};

constexpr Extents kExtents[] = {{1, 1}, {3, 17}, {129, 1}, {1, 257}, {33, 129}, {64, 128}};

/// Matrices of `groups` groups of `rows` rows.
struct Groups {
  std::int64_t groups, rows, n;
};

constexpr Groups kGroups[] = {{1, 1, 1},    {1, 3, 17},   {1, 129, 1},  {1, 1, 257},
                              {1, 33, 129}, {1, 64, 128}, {3, 1, 5},    {5, 7, 33},
                              {2, 64, 128}, {3, 300, 4},  {4, 5, 1030}, {7, 3, 70}};

using ElementwiseTest = OpTest;

TEST_P(ElementwiseTest, AddsABias) {
  for (const auto& [groups, rows, n] : kGroups) {
    const Tensor x = random({groups * rows, n}, compute());
    const Tensor bias = random(groups == 1 ? Shape{n} : Shape{groups, n}, compute());
    Values expected = values(x);
    const Values added = values(bias);
    Values tolerance;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto columns = static_cast<std::size_t>(n);
      const std::size_t group = i / (static_cast<std::size_t>(rows) * columns);
      expected[i] += added[group * columns + i % columns];
      tolerance.push_back(arithmetic_roundoff(compute()) * std::abs(expected[i]) +
                          storage_tolerance(compute(), expected[i]));
    }
    backend().add_bias(x, bias);
    expect_near(x, expected, tolerance);
  }
}

TEST_P(ElementwiseTest, AppliesActivationsBothWays) {
  for (const Activation activation : kActivations) {
    for (const auto& [m, n] : kExtents) {
      const Tensor x = random({m, n}, compute(), -6, 6);
      const Tensor dx = random({m, n}, compute());
      const Tensor saved = backend().allocate_saved(activation, m, n, compute());
      const Values input = values(x);
      Values output;
      Values tolerance;
      for (const double value : input) {
        output.push_back(activation_value(activation, value));
        tolerance.push_back(activation == Activation::relu
                                ? 0
                                : activation_tolerance(activation, compute(), value, 0) +
                                      storage_tolerance(compute(), output.back()));
      }
      backend().activation_forward(activation, x, saved);
      expect_near(x, output, tolerance);

      Values gradient = values(dx);
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        const double incoming = std::abs(gradient[i]);
        gradient[i] *= activation_slope(activation, input[i]);
        tolerance[i] = activation == Activation::relu
                           ? 0
                           : incoming * (slope_tolerance(activation, compute(), input[i], 0) +
                                         arithmetic_roundoff(compute())) +
                                 storage_tolerance(compute(), gradient[i]);
      }
      backend().activation_backward(activation, saved, dx);
      expect_near(dx, gradient, tolerance);
    }
  }
}

TEST_P(ElementwiseTest, ActivatesWithoutSaving) {
  const Tensor x = random({17, 33}, compute());
  Values expected = values(x);
  for (double& value : expected) value = activation_value(Activation::relu, value);
  backend().activation_forward(Activation::relu, x, {});
  expect_equal(x, expected);
}

// Zero, which has no slope to pass on; numbers that tanh saturates on; and Inf, which only ReLU
// passes on in one direction. An exponential may stop at the ends of fp32's range: what GELU leaves
// for -1000 is 2^-126 times its argument's polynomial, which is below 2^30.
TEST_P(ElementwiseTest, ActivatesTheEdges) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const auto run = [&](Activation activation, const Values& input, const Values& output,
                       const Values& slopes) {
    const auto count = static_cast<std::int64_t>(input.size());
    const Values tolerance(input.size(), keeps_input(activation) ? 0x1p-96 : 0);
    const Tensor x = guarded({1, count}, compute(), input);
    const Tensor dx = guarded({1, count}, compute(), Values(input.size(), 1.0));
    const Tensor saved = backend().allocate_saved(activation, 1, count, compute());
    backend().activation_forward(activation, x, saved);
    expect_near(x, output, tolerance);
    backend().activation_backward(activation, saved, dx);
    expect_near(dx, slopes, tolerance);
  };
  run(Activation::relu, {0.0, -0.0, 1, -1, kInf, -kInf}, {0, 0, 1, 0, kInf, 0}, {0, 0, 1, 0, 1, 0});
  run(Activation::gelu, {0, 32, -32, 1000, -1000}, {0, 32, 0, 1000, 0}, {0.5, 1, 0, 1, 0});
  run(Activation::silu, {0, 1000, -1000}, {0, 1000, 0}, {0.5, 1, 0});
}

TEST_P(ElementwiseTest, SumsTheBiasGradient) {
  for (const auto& [groups, rows, n] : kGroups) {
    const Tensor dy = random({groups * rows, n}, compute());
    const Values gradient = values(dy);
    Values expected(static_cast<std::size_t>(groups * n), 0.0);
    Values magnitude(expected.size(), 0.0);
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const auto columns = static_cast<std::size_t>(n);
      const std::size_t group = i / (static_cast<std::size_t>(rows) * columns);
      expected[group * columns + i % columns] += gradient[i];
      magnitude[group * columns + i % columns] += std::abs(gradient[i]);
    }
    for (const DType dtype : {master(), compute()}) {
      const Tensor db = guarded(groups == 1 ? Shape{n} : Shape{groups, n}, dtype);
      Values tolerance;
      for (std::size_t j = 0; j < expected.size(); ++j) {
        tolerance.push_back(sum_tolerance(compute(), rows, magnitude[j]) +
                            storage_tolerance(dtype, expected[j]));
      }
      backend().bias_gradient(dy, db);
      expect_near(db, expected, tolerance);
    }
  }
}

TEST_P(ElementwiseTest, SavesNothingForNoActivation) {
  EXPECT_TRUE(backend().allocate_saved(Activation::none, 3, 5, compute()).absent());
}

INSTANTIATE_TEST_SUITE_P(Devices, ElementwiseTest, testing::ValuesIn(op_params(test_devices())),
                         param_name);

}  // namespace
}  // namespace trainbench
