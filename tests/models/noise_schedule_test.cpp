#include "common/models/noise_schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/host_values.h"
#include "cpu/cpu_backend.h"

namespace trainbench {
namespace {

// The distribution function undoes it: to its slope times four roundings of the quantile, and those
// of erfc.
TEST(NormalQuantile, IsTheInverseOfTheDistribution) {
  for (const double p : {1e-9, 0.5 / 65536, 0.01, 0.3, 0.5, 0.77, 0.999}) {
    const double x = normal_quantile(p);
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0));
    const double tolerance = 4 * 0x1p-53 * (std::abs(x) * density + p * (1 + x * x));
    EXPECT_NEAR(std::erfc(-x / std::sqrt(2.0)) / 2, p, tolerance) << p;
  }
  EXPECT_NEAR(normal_quantile(0.5), 0, 0x1p-52);
  // Tabulated: the quantile of 0.975.
  EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 4 * 0x1p-52);
}

// The last product of the schedule of 1,000 steps, worked out with 50 digits.
TEST(NoiseSchedule, HasTheProductsOfItsBetas) {
  const NoiseSchedule schedule(1000, 64);
  const std::vector<double> products = schedule.alpha_bar();
  ASSERT_EQ(products.size(), 1000u);
  EXPECT_NEAR(products.front(), 0.9999, 1e-15);
  EXPECT_NEAR(products.back(), 4.0358297653756835e-05, 1e-15);
}

TEST(NoiseSchedule, ItsTablesAddUpToOneAndAreNormal) {
  const auto backend = make_cpu_backend({.threads = 1});
  NoiseSchedule schedule(1000, 64);
  schedule.allocate(*backend, DType::f32);
  const std::vector<double> signal = read_values(*backend, schedule.tables().signal);
  const std::vector<double> noise = read_values(*backend, schedule.tables().noise);
  for (std::size_t i = 0; i < signal.size(); ++i) {
    EXPECT_NEAR(signal[i] * signal[i] + noise[i] * noise[i], 1, 4 * 0x1p-24);
  }
  const std::vector<double> normal = read_values(*backend, schedule.tables().normal);
  double sum = 0;
  double squares = 0;
  for (const double value : normal) {
    sum += value;
    squares += value * value;
  }
  EXPECT_EQ(sum, 0);
  // 1 less what the tails beyond the last quantiles, 4.3, hold.
  EXPECT_NEAR(squares / 65536, 1, 2e-4);
}

TEST(NoiseSchedule, TellsStepsApartBySinesAndCosines) {
  const NoiseSchedule schedule(5, 4);
  const std::vector<double> features = schedule.features_by_definition();
  ASSERT_EQ(features.size(), 20u);
  const double* row = features.data() + 3 * 4;
  EXPECT_DOUBLE_EQ(row[0], std::sin(3.0));
  EXPECT_DOUBLE_EQ(row[1], std::sin(3.0 / 100));
  EXPECT_DOUBLE_EQ(row[2], std::cos(3.0));
  EXPECT_DOUBLE_EQ(row[3], std::cos(3.0 / 100));
}

}  // namespace
}  // namespace trainbench
