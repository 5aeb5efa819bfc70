#include "common/report/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "common/core/philox.h"

namespace trainbench {
namespace {

// The expected values below were computed with numpy 1.24 and scipy 1.10 (numpy.quantile,
// scipy.stats.median_abs_deviation, gmean, binom) or follow from counting, as said beside each.

const std::vector<double> kUnsorted{3.5, 1.25, 9.0, 4.0, 2.0, 7.75, 6.5, 5.0, 8.25, 1.0};

TEST(Statistics, QuantilesLieBetweenOrderStatistics) {
  const Summary summary = summarize(kUnsorted);
  EXPECT_EQ(summary.count, 10u);
  EXPECT_EQ(summary.minimum, 1.0);
  EXPECT_EQ(summary.maximum, 9.0);
  EXPECT_DOUBLE_EQ(summary.first_quartile, 2.375);  // numpy.quantile(x, 0.25)
  EXPECT_DOUBLE_EQ(summary.median, 4.5);
  EXPECT_DOUBLE_EQ(summary.third_quartile, 7.4375);
  EXPECT_DOUBLE_EQ(summary.p95, 8.6625);
  EXPECT_DOUBLE_EQ(summary.iqr(), 5.0625);
  EXPECT_DOUBLE_EQ(summary.relative_iqr(), 1.125);
  // median_abs_deviation(x, scale="normal"): the median distance from 4.5 is 2.875.
  EXPECT_NEAR(summary.jitter, 4.2624813782036, 1e-12);
}

TEST(Statistics, OneAndTwoValues) {
  const Summary one = summarize({2.5});
  EXPECT_EQ(one.median, 2.5);
  EXPECT_EQ(one.p95, 2.5);
  EXPECT_EQ(one.iqr(), 0);
  EXPECT_EQ(one.jitter, 0);
  EXPECT_EQ(standard_deviation({2.5}), 0);
  EXPECT_EQ(median({4.0, 1.0}), 2.5);
  EXPECT_EQ(median({4.0, 1.0, 2.0}), 2.0);
}

TEST(Statistics, MeansAndDeviation) {
  EXPECT_DOUBLE_EQ(mean(kUnsorted), 4.825);
  EXPECT_NEAR(standard_deviation(kUnsorted), 2.9511061956, 1e-9);  // numpy.std(x, ddof=1)
  EXPECT_NEAR(geometric_mean(kUnsorted), 3.8158821775, 1e-9);      // scipy.stats.gmean
  EXPECT_DOUBLE_EQ(geometric_mean({2, 8}), 4);
  // Far from zero a difference of two sums would lose every digit.
  EXPECT_NEAR(standard_deviation({1e9 + 1, 1e9 + 2, 1e9 + 3}), 1, 1e-9);
}

TEST(MedianInterval, IsExactForSmallSamples) {
  std::vector<double> values;
  for (int i = 1; i <= 10; ++i) values.push_back(i);
  // Of ten values the second and the ninth: 1 - 2 (1 + 10) / 2^10. The third and eighth would have
  // only 1 - 2 (1 + 10 + 45) / 2^10 = 0.8906.
  Interval interval = median_interval(values, 0.95);
  EXPECT_EQ(interval.low, 2);
  EXPECT_EQ(interval.high, 9);
  EXPECT_DOUBLE_EQ(interval.level, 1 - 22.0 / 1024);
  interval = median_interval(values, 0.85);
  EXPECT_EQ(interval.low, 3);
  EXPECT_EQ(interval.high, 8);
  EXPECT_DOUBLE_EQ(interval.level, 1 - 112.0 / 1024);
}

TEST(MedianInterval, FewValuesSayWhatTheyCannotPromise) {
  Interval interval = median_interval({5, 1, 3}, 0.95);
  EXPECT_EQ(interval.low, 1);
  EXPECT_EQ(interval.high, 5);
  EXPECT_DOUBLE_EQ(interval.level, 0.75);  // 1 - 2 / 2^3
  interval = median_interval({7}, 0.95);
  EXPECT_EQ(interval.low, 7);
  EXPECT_EQ(interval.high, 7);
  EXPECT_EQ(interval.level, 0);
}

TEST(MedianInterval, LargeSamplesFollowTheBinomial) {
  std::vector<double> values;
  for (int i = 1; i <= 100; ++i) values.push_back(i);
  // scipy.stats.binom(100, 0.5).cdf(39) = 0.017600, cdf(40) = 0.028444: ranks 40 and 61 hold
  // 0.9648.
  const Interval interval = median_interval(values, 0.95);
  EXPECT_EQ(interval.low, 40);
  EXPECT_EQ(interval.high, 61);
  EXPECT_NEAR(interval.level, 0.9647998, 1e-7);
}

/// Values like a run's: a floor and a one-sided tail.
std::vector<double> noisy(std::uint64_t stream, std::size_t count, double scale) {
  const Philox random(7, stream);
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(scale * (1 - 0.05 * std::log(1 - random.uniform(i))));
  }
  return values;
}

TEST(RatioInterval, IsRepeatableAndHoldsTheRatio) {
  const std::vector<double> slow = noisy(1, 10, 3);
  const std::vector<double> fast = noisy(2, 10, 1);
  const Interval interval = ratio_interval(slow, fast);
  const double ratio = median(slow) / median(fast);
  EXPECT_LT(interval.low, ratio);
  EXPECT_GT(interval.high, ratio);
  EXPECT_EQ(interval.level, 0.95);
  const Interval again = ratio_interval(slow, fast);
  EXPECT_EQ(interval.low, again.low);
  EXPECT_EQ(interval.high, again.high);
  // Another seed draws others; the same to a few percent of the width.
  const Interval other = ratio_interval(slow, fast, 0.95, 2);
  const double width = interval.high - interval.low;
  EXPECT_NEAR(other.low, interval.low, 0.1 * width);
  EXPECT_NEAR(other.high, interval.high, 0.1 * width);
}

TEST(RatioInterval, DrawsTheTwoSamplesIndependently) {
  // The same values on both sides: drawn alike, their ratio would always be 1.
  const std::vector<double> values = noisy(1, 10, 1);
  const Interval interval = ratio_interval(values, values);
  EXPECT_LT(interval.low, 1);
  EXPECT_GT(interval.high, 1);
}

TEST(RatioInterval, ConstantSamplesLeaveNoDoubt) {
  const Interval interval = ratio_interval({6, 6, 6}, {2, 2, 2});
  EXPECT_EQ(interval.low, 3);
  EXPECT_EQ(interval.high, 3);
}

TEST(RatioInterval, MatchesTheDistributionOfThreeValues) {
  // Against a constant the ratio is the median of three draws from {1, 2, 3}: 1 with probability
  // 7/27, 3 likewise, by counting. So the 20 % tails lie on the extremes and 30 % tails do not.
  Interval interval = ratio_interval({1, 2, 3}, {1}, 0.60);
  EXPECT_EQ(interval.low, 1);
  EXPECT_EQ(interval.high, 3);
  interval = ratio_interval({1, 2, 3}, {1}, 0.40);
  EXPECT_EQ(interval.low, 2);
  EXPECT_EQ(interval.high, 2);
}

TEST(RatioInterval, HoldsTheTruthAboutAsOftenAsItSays) {
  // Both samples come from one distribution, so the true ratio is 1. Of 200 intervals of 95 % more
  // than 20 miss with a probability of 0.1 % (binomial: mean 10, deviation 3.1), and all hold it
  // with one of 0.004 %.
  int misses = 0;
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    const Interval interval =
        ratio_interval(noisy(2 * trial + 10, 10, 1), noisy(2 * trial + 11, 10, 1));
    misses += interval.low > 1 || interval.high < 1;
  }
  EXPECT_LE(misses, 20);
  EXPECT_GE(misses, 1);
}

}  // namespace
}  // namespace trainbench
