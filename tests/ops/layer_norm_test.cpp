#include <cmath>

#include "tests/ops/op_test.h"

namespace trainbench {
namespace {

constexpr double kEpsilon = 1e-5;
constexpr std::pair<std::int64_t, std::int64_t> kExtents[] = {
    {1, 1}, {3, 7}, {17, 64}, {33, 129}, {5, 1100}};

/// A row's mean and 1 / deviation with their worst errors.
struct Moments {
  double mean = 0, mean_error = 0;
  double inverse = 0, inverse_error = 0;
};

/// A sum of n numbers errs by (n + 1) u of their magnitude. The mean's error shifts all deviations
/// alike, and deviations by d move the variance by at most 2 d sqrt(variance) + d^2.
Moments moments_of(const double* x, std::int64_t n, double u) {
  const auto count = static_cast<double>(n);
  double sum = 0, magnitude = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    sum += x[i];
    magnitude += std::abs(x[i]);
  }
  Moments m{sum / count, (count + 2) * u * magnitude / count};
  double squares = 0, largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    squares += (x[i] - m.mean) * (x[i] - m.mean);
    largest = std::max(largest, std::abs(x[i] - m.mean));
  }
  const double variance = squares / count;
  const double shift = m.mean_error + u * largest;
  const double variance_error =
      (count + 4) * u * variance + 2 * shift * std::sqrt(variance) + shift * shift;
  m.inverse = 1 / std::sqrt(variance + kEpsilon);
  m.inverse_error = m.inverse * (variance_error / (variance + kEpsilon) + 4 * u);
  return m;
}

class LayerNormTest : public OpTest {};

TEST_P(LayerNormTest, NormalisesRowsAfterAddingTheResidual) {
  for (const auto& [rows, columns] : kExtents) {
    for (const bool with_residual : {false, true}) {
      const Tensor x = random({rows, columns}, compute(), -1, 3);
      const Tensor residual = with_residual ? random({rows, columns}, compute()) : Tensor();
      const Tensor gamma = random({columns}, compute());
      const Tensor beta = random({columns}, compute());
      const Tensor mean = guarded({rows}, master());
      const Tensor inverse = guarded({rows}, master());
      const Tensor y = guarded({rows, columns}, compute());
      const Values before = values(x);
      backend().layer_norm(kEpsilon, x, residual, {gamma, beta}, mean, inverse, y);

      const double u = arithmetic_roundoff(compute());
      const Values after = values(x);
      Values sums = before, sum_tolerances(before.size(), 0);
      if (with_residual) {
        const Values more = values(residual);
        for (std::size_t i = 0; i < sums.size(); ++i) {
          sums[i] += more[i];
          sum_tolerances[i] = u * std::abs(sums[i]) + storage_tolerance(compute(), sums[i]);
        }
      }
      expect_near(x, sums, sum_tolerances);

      const Values scale = values(gamma), shift = values(beta);
      Values means, mean_tolerance, inverses, inverse_tolerance, expected, tolerance;
      for (std::int64_t row = 0; row < rows; ++row) {
        const double* from = after.data() + row * columns;
        const Moments m = moments_of(from, columns, u);
        means.push_back(m.mean);
        mean_tolerance.push_back(m.mean_error);
        inverses.push_back(m.inverse);
        inverse_tolerance.push_back(m.inverse_error);
        for (std::int64_t i = 0; i < columns; ++i) {
          const double g = scale[static_cast<std::size_t>(i)];
          const double deviation = from[i] - m.mean;
          const double value = deviation * m.inverse * g + shift[static_cast<std::size_t>(i)];
          expected.push_back(value);
          tolerance.push_back(
              std::abs(g) * (m.mean_error * m.inverse + std::abs(deviation) * m.inverse_error) +
              4 * u * (std::abs(deviation * m.inverse * g) + std::abs(value)) +
              storage_tolerance(compute(), value));
        }
      }
      expect_near(mean, means, mean_tolerance);
      expect_near(inverse, inverses, inverse_tolerance);
      expect_near(y, expected, tolerance);
    }
  }
}

TEST_P(LayerNormTest, BackwardFollowsTheDefinition) {
  for (const auto& extents : kExtents) {
    // Lambdas of clang 14 capture no structured binding.
    const std::int64_t rows = extents.first;
    const std::int64_t columns = extents.second;
    for (const bool with_residual : {false, true}) {
      const Tensor x = random({rows, columns}, compute(), -1, 3);
      const Tensor dy = random({rows, columns}, compute());
      const Tensor gamma = random({columns}, compute());
      const Tensor mean = random({rows}, master(), 0, 1);
      const Tensor inverse = random({rows}, master(), 0.5, 1.5);
      const Tensor dx = random({rows, columns}, compute());
      const Values before = values(dx);
      const Tensor dgamma = guarded({columns}, master());
      const Tensor dbeta = guarded({columns}, master());
      // The residual's gradient may be the result.
      backend().layer_norm_backward(x, dy, gamma, mean, inverse,
                                    with_residual ? ConstTensor(dx) : ConstTensor(), dx,
                                    {dgamma, dbeta});

      const double u = arithmetic_roundoff(compute());
      const Values from = values(x), slopes = values(dy), scale = values(gamma);
      const Values means = values(mean), inverses = values(inverse);
      const auto n = static_cast<std::size_t>(columns);
      const auto count = static_cast<double>(columns);
      Values expected, tolerance;
      Values sums[2] = {Values(n, 0), Values(n, 0)}, magnitudes[2] = {Values(n, 0), Values(n, 0)};
      for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
        const auto normal = [&](std::size_t i) {
          return (from[row * n + i] - means[row]) * inverses[row];
        };
        double level = 0, along = 0, level_magnitude = 0, along_magnitude = 0;
        for (std::size_t i = 0; i < n; ++i) {
          const double slope = slopes[row * n + i] * scale[i];
          level += slope / count;
          level_magnitude += std::abs(slope) / count;
          along += slope * normal(i) / count;
          along_magnitude += std::abs(slope * normal(i)) / count;
          sums[0][i] += slopes[row * n + i] * normal(i);
          magnitudes[0][i] += std::abs(slopes[row * n + i] * normal(i));
          sums[1][i] += slopes[row * n + i];
          magnitudes[1][i] += std::abs(slopes[row * n + i]);
        }
        for (std::size_t i = 0; i < n; ++i) {
          const double slope = slopes[row * n + i] * scale[i];
          const double more = with_residual ? before[row * n + i] : 0;
          const double value = inverses[row] * (slope - level - normal(i) * along) + more;
          expected.push_back(value);
          const double error =
              (count + 5) * u * (level_magnitude + std::abs(normal(i)) * along_magnitude) +
              6 * u * (std::abs(slope) + std::abs(level) + std::abs(normal(i) * along));
          tolerance.push_back(inverses[row] * error + 2 * u * (std::abs(value) + std::abs(more)) +
                              storage_tolerance(compute(), value));
        }
      }
      expect_near(dx, expected, tolerance);
      const auto tolerances = [&](Values m) {
        for (double& value : m) value = sum_tolerance(compute(), rows + 3, value);
        return m;
      };
      expect_near(dgamma, sums[0], tolerances(magnitudes[0]));
      expect_near(dbeta, sums[1], tolerances(magnitudes[1]));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, LayerNormTest, testing::ValuesIn(op_params(test_devices())),
                         param_name);

}  // namespace
}  // namespace trainbench
