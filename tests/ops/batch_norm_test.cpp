#include "tests/ops/op_test.h"

namespace trainbench {
namespace {

struct Problem {
  std::int64_t batch, height, width, channels;
  std::int64_t rows() const { return batch * height * width; }
};

// Odd numbers of channels, more than a line of the CPU's holds, and rows that fill several.
constexpr Problem kProblems[] = {{2, 1, 1, 1},   {3, 5, 7, 3},   {2, 4, 4, 16},
                                 {1, 3, 3, 600}, {4, 9, 13, 33}, {2, 16, 40, 24}};

class BatchNormTest : public OpTest {
 protected:
  static constexpr double kEpsilon = 1e-5;

  struct Operands {
    Tensor x, residual, gamma, beta;
    BatchNormState state;
  };

  /// Channel c has its own mean and deviation, the mean up to 20 times the other.
  Operands operands(const Problem& p) {
    Values x = values(random({p.rows(), p.channels}, DType::f32));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto c = static_cast<double>(i % static_cast<std::size_t>(p.channels));
      x[i] = x[i] * (0.25 + std::fmod(c, 3)) + 5 * std::sin(c);
    }
    const Shape shape{p.batch, p.height, p.width, p.channels};
    const Shape channels{p.channels};
    return {guarded(shape, compute(), x),
            random(shape, compute()),
            random(channels, compute(), 0.5, 2),
            random(channels, compute()),
            {guarded(channels, master()), guarded(channels, master()), random(channels, master()),
             random(channels, master(), 0.5, 2)}};
  }

  struct Statistics {
    Values mean, variance, spread;  ///< spread: mean magnitude of x
  };
  Statistics statistics(const Values& x, std::int64_t channels) {
    const auto c = static_cast<std::size_t>(channels);
    const double m = static_cast<double>(x.size() / c);
    Statistics s{Values(c), Values(c), Values(c)};
    for (std::size_t i = 0; i < x.size(); ++i) {
      s.mean[i % c] += x[i] / m;
      s.spread[i % c] += std::abs(x[i]) / m;
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
      s.variance[i % c] += (x[i] - s.mean[i % c]) * (x[i] - s.mean[i % c]) / m;
    }
    return s;
  }

  /// Relative error of 1 / deviation: the variance is a mean of rows squares, of deviations from a
  /// mean that is itself off by rows roundings of the magnitudes.
  double inverse_error(const Statistics& s, std::size_t c, std::int64_t rows) const {
    const double u = arithmetic_roundoff(compute());
    const double mean_error = static_cast<double>(rows + 1) * u * s.spread[c];
    const double variance_error = static_cast<double>(rows + 4) * u * s.variance[c] +
                                  4 * u * s.spread[c] * std::sqrt(s.variance[c]) +
                                  mean_error * mean_error;
    return 0.5 * variance_error / (s.variance[c] + kEpsilon) + 4 * u;
  }

  /// What is expected of y, from given statistics with their errors.
  void expect_normalised(const Operands& o, const Tensor& y, const Values& residual, bool relu,
                         const Values& mean, const Values& inverse, const Values& mean_error,
                         const Values& relative_error) {
    const Values x = values(o.x);
    const Values gamma = values(o.gamma);
    const Values beta = values(o.beta);
    Values expected;
    Values tolerance;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t c = i % gamma.size();
      const double scaled = (x[i] - mean[c]) * inverse[c] * gamma[c];
      const double added = residual.empty() ? 0 : residual[i];
      double value = scaled + beta[c] + added;
      const double u = arithmetic_roundoff(compute());
      const double error =
          std::abs(scaled) * (relative_error[c] + 5 * u) +
          std::abs(inverse[c] * gamma[c]) * (mean_error[c] + u * std::abs(mean[c])) +
          3 * u * (std::abs(beta[c]) + std::abs(added));
      if (relu && value < 0) value = 0;
      expected.push_back(value);
      tolerance.push_back(error + storage_tolerance(compute(), value));
    }
    expect_near(y, expected, tolerance);
  }

  BatchNormOptions options(bool relu) const {
    return {.epsilon = kEpsilon,
            .momentum = 0.1,
            .activation = relu ? Activation::relu : Activation::none};
  }
};

TEST_P(BatchNormTest, Normalises) {
  for (const Problem& p : kProblems) {
    for (const bool with_residual : {false, true}) {
      for (const bool relu : {false, true}) {
        SCOPED_TRACE(testing::Message() << p.rows() << " x " << p.channels << " residual "
                                        << with_residual << " relu " << relu);
        const Operands o = operands(p);
        const Values running_mean = values(o.state.running_mean);
        const Values running_variance = values(o.state.running_variance);
        const Tensor y = guarded(o.x.shape, compute());
        const Tensor residual = with_residual ? o.residual : Tensor();
        backend().batch_norm(options(relu), o.x, {o.gamma, o.beta}, residual, o.state, y);

        const Statistics s = statistics(values(o.x), p.channels);
        const double u = arithmetic_roundoff(compute());
        const auto rows = static_cast<double>(p.rows());
        Values inverse, mean_error, inverse_errors, inverse_bounds, mean_after, variance_after,
            mean_bound, variance_bound;
        for (std::size_t c = 0; c < s.mean.size(); ++c) {
          inverse.push_back(1 / std::sqrt(s.variance[c] + kEpsilon));
          mean_error.push_back((rows + 1) * u * s.spread[c]);
          inverse_errors.push_back(inverse_error(s, c, p.rows()));
          inverse_bounds.push_back(inverse_errors[c] * inverse[c]);
          mean_after.push_back(0.9 * running_mean[c] + 0.1 * s.mean[c]);
          const double unbiased = s.variance[c] * rows / (rows - 1);
          variance_after.push_back(0.9 * running_variance[c] + 0.1 * unbiased);
          mean_bound.push_back(mean_error[c] + 4 * u * (std::abs(running_mean[c]) + 1));
          variance_bound.push_back(2 * inverse_errors[c] * (unbiased + 2 * kEpsilon) +
                                   4 * u * running_variance[c]);
        }
        expect_near(o.state.mean, s.mean, mean_error);
        expect_near(o.state.inverse, inverse, inverse_bounds);
        expect_near(o.state.running_mean, mean_after, mean_bound);
        expect_near(o.state.running_variance, variance_after, variance_bound);
        expect_normalised(o, y, with_residual ? values(o.residual) : Values(), relu, s.mean,
                          inverse, mean_error, inverse_errors);
      }
    }
  }
}

TEST_P(BatchNormTest, EvaluatesByTheRunningStatistics) {
  for (const Problem& p : kProblems) {
    for (const bool with_residual : {false, true}) {
      for (const bool relu : {false, true}) {
        const Operands o = operands(p);
        const Values mean = values(o.state.running_mean);
        const Values variance = values(o.state.running_variance);
        const Tensor y = guarded(o.x.shape, compute());
        const Tensor residual = with_residual ? o.residual : Tensor();
        backend().batch_norm_evaluate(options(relu), o.x, {o.gamma, o.beta}, residual, o.state, y);
        EXPECT_EQ(values(o.state.running_mean), mean);
        EXPECT_EQ(values(o.state.running_variance), variance);
        Values inverse;
        for (const double v : variance) inverse.push_back(1 / std::sqrt(v + kEpsilon));
        const Values relative(mean.size(), 4 * arithmetic_roundoff(compute()));
        expect_normalised(o, y, with_residual ? values(o.residual) : Values(), relu, mean, inverse,
                          Values(mean.size(), 0), relative);
      }
    }
  }
}

// A channel that is the same everywhere has no deviation: what is left is beta.
TEST_P(BatchNormTest, AConstantChannelBecomesItsBeta) {
  Operands o = operands({3, 5, 5, 7});
  write_values(backend(), o.x, Values(static_cast<std::size_t>(o.x.elements()), 5));
  const Tensor y = guarded(o.x.shape, compute());
  backend().batch_norm(options(false), o.x, {o.gamma, o.beta}, {}, o.state, y);
  const Values beta = values(o.beta);
  // The mean of equal numbers is off by less than rows u of them, which 1/sqrt(epsilon) magnifies.
  const double off = 75 * arithmetic_roundoff(compute()) * 5 * 2 / std::sqrt(kEpsilon);
  Values expected;
  Values tolerance;
  for (std::int64_t i = 0; i < o.x.elements(); ++i) {
    expected.push_back(beta[static_cast<std::size_t>(i % 7)]);
    tolerance.push_back(off + storage_tolerance(compute(), expected.back()));
  }
  expect_near(y, expected, tolerance);
}

/// Which buffer receives what in the backward pass.
enum class Place { apart, dx_over_dy, dresidual_over_dy };

class BatchNormBackwardTest : public BatchNormTest {
 protected:
  void expect_gradients(const Problem& p, bool relu, bool with_residual, Place place) {
    const Operands o = operands(p);
    const Tensor y = random(o.x.shape, compute());
    const Tensor dy = random(o.x.shape, compute());
    const Statistics s = statistics(values(o.x), p.channels);
    Values inverse;
    for (const double v : s.variance) inverse.push_back(1 / std::sqrt(v + kEpsilon));
    write_values(backend(), o.state.mean, s.mean);
    write_values(backend(), o.state.inverse, inverse);
    const Values mean = values(o.state.mean);
    inverse = values(o.state.inverse);
    const Values gradient = masked(values(dy), relu ? values(y) : Values());
    const Values x = values(o.x);

    const Tensor dx = place == Place::dx_over_dy ? dy : guarded(o.x.shape, compute());
    const Tensor dresidual = !with_residual                      ? Tensor()
                             : place == Place::dresidual_over_dy ? dy
                                                                 : guarded(o.x.shape, compute());
    const Tensor dgamma = guarded({p.channels}, master());
    const Tensor dbeta = guarded({p.channels}, master());
    backend().batch_norm_backward(options(relu), o.x, relu ? y : Tensor(), dy, o.gamma, o.state, dx,
                                  dresidual, {dgamma, dbeta});
    if (with_residual) expect_equal(dresidual, gradient);
    expect_input_gradient(x, gradient, mean, inverse, values(o.gamma), dx, dgamma, dbeta);
  }

  static Values masked(Values dy, const Values& y) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (y[i] <= 0) dy[i] = 0;
    }
    return dy;
  }

  void expect_input_gradient(const Values& x, const Values& g, const Values& mean,
                             const Values& inverse, const Values& gamma, const Tensor& dx,
                             const Tensor& dgamma, const Tensor& dbeta) {
    const std::size_t channels = mean.size();
    const double m = static_cast<double>(x.size() / channels);
    const double u = arithmetic_roundoff(compute());
    Values sum(channels), sum_size(channels), moment(channels), moment_size(channels),
        expected_gamma(channels), gamma_tolerance(channels), beta_tolerance(channels);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t c = i % channels;
      const double d = x[i] - mean[c];
      sum[c] += g[i];
      sum_size[c] += std::abs(g[i]);
      moment[c] += g[i] * d;
      moment_size[c] += std::abs(g[i] * d) + std::abs(g[i]) * u * std::abs(mean[c]);
    }
    for (std::size_t c = 0; c < channels; ++c) {
      expected_gamma[c] = moment[c] * inverse[c];
      gamma_tolerance[c] = (m + 5) * u * moment_size[c] * inverse[c];
      beta_tolerance[c] = (m + 2) * u * sum_size[c];
    }
    expect_near(dgamma, expected_gamma, gamma_tolerance);
    expect_near(dbeta, sum, beta_tolerance);
    Values expected, tolerance;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t c = i % channels;
      const double d = x[i] - mean[c];
      const double factor = gamma[c] * inverse[c];
      const double slope = inverse[c] * inverse[c] * moment[c] / m;
      expected.push_back(factor * (g[i] - sum[c] / m - d * slope));
      const double parts = std::abs(g[i]) + std::abs(sum[c] / m) + std::abs(d * slope);
      const double sums = beta_tolerance[c] / m + (std::abs(d) + u * std::abs(mean[c])) *
                                                      inverse[c] * gamma_tolerance[c] / m;
      tolerance.push_back(std::abs(factor) * (8 * u * parts + sums) +
                          storage_tolerance(compute(), expected.back()));
    }
    expect_near(dx, expected, tolerance);
  }
};

TEST_P(BatchNormBackwardTest, FindsTheGradients) {
  for (const Problem& p : kProblems) {
    for (const bool relu : {false, true}) {
      SCOPED_TRACE(testing::Message() << p.rows() << " x " << p.channels << " relu " << relu);
      expect_gradients(p, relu, false, Place::apart);
      expect_gradients(p, relu, false, Place::dx_over_dy);
      expect_gradients(p, relu, true, Place::apart);
      expect_gradients(p, relu, true, Place::dx_over_dy);
      expect_gradients(p, relu, true, Place::dresidual_over_dy);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, BatchNormTest, testing::ValuesIn(op_params(test_devices())),
                         param_name);
INSTANTIATE_TEST_SUITE_P(Devices, BatchNormBackwardTest,
                         testing::ValuesIn(op_params(test_devices())), param_name);

}  // namespace
}  // namespace trainbench
