#include "common/report/rank_test.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/core/philox.h"

namespace trainbench {
namespace {

// Hollander and Wolfe's permeability data, as R's wilcox.test documents them.
const std::vector<double> kTerm{0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
const std::vector<double> kEarly{1.15, 0.88, 0.90, 0.74, 1.21};

TEST(MannWhitney, ExactWithoutTies) {
  EXPECT_NEAR(mann_whitney_p(kTerm, kEarly), 0.2544122544122544, 1e-12);
  EXPECT_NEAR(mann_whitney_p(kEarly, kTerm), 0.2544122544122544, 1e-12);
  EXPECT_NEAR(mann_whitney_p({1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}), 2.0 / 252, 1e-15);
  EXPECT_NEAR(mann_whitney_p({1, 4}, {2, 3}), 1.0, 1e-15);
}

TEST(MannWhitney, ExactWithTies) {
  // By enumeration: 39 of the 462 ways to choose five of the eleven midranks are as far out.
  EXPECT_NEAR(mann_whitney_p({1, 2, 2, 3, 5}, {2, 4, 4, 5, 6, 7}), 39.0 / 462, 1e-14);
  EXPECT_NEAR(mann_whitney_p({7, 7, 7}, {7, 7, 7}), 1.0, 1e-15);
}

TEST(MannWhitney, ApproximationMeetsTheExactTestWhereTheyJoin) {
  const Philox random(11, 0);
  std::vector<double> a;
  std::vector<double> b;
  for (std::uint64_t i = 0; i < 50; ++i) {
    a.push_back(random.uniform(i));
    b.push_back(random.uniform(1000 + i) + 0.1);
  }
  const double exact = mann_whitney_p(a, b);
  a.push_back(0.5);  // 101 values: approximated
  const double approximate = mann_whitney_p(a, b);
  EXPECT_NEAR(approximate, exact, 0.2 * exact);
  EXPECT_NE(approximate, exact);
}

TEST(MannWhitney, ErrsAtMostAsOftenAsItSays) {
  // 4,000 pairs of equal distribution: rejections at 0.05 are binomial with at most that mean.
  const Philox random(3, 1);
  int rejections = 0;
  constexpr int kTrials = 4000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::vector<double> a;
    std::vector<double> b;
    for (std::uint64_t i = 0; i < 8; ++i) {
      a.push_back(random.uniform(static_cast<std::uint64_t>(trial) * 16 + i));
      b.push_back(random.uniform(static_cast<std::uint64_t>(trial) * 16 + 8 + i));
    }
    rejections += mann_whitney_p(a, b) <= 0.05;
  }
  EXPECT_LT(rejections, kTrials * 0.05 + 4 * std::sqrt(kTrials * 0.05 * 0.95));
  EXPECT_GT(rejections, kTrials * 0.02);
}

TEST(MannWhitney, SmallestPossiblePValue) {
  EXPECT_NEAR(least_mann_whitney_p(5, 5), 2.0 / 252, 1e-15);
  EXPECT_NEAR(least_mann_whitney_p(2, 9), 2.0 / 55, 1e-15);
  EXPECT_EQ(least_sample_size(0.01), 5u);
  EXPECT_EQ(least_sample_size(2.0 / 252), 5u);
  EXPECT_EQ(least_sample_size(0.001), 7u);
}

TEST(HodgesLehmann, IntervalIsTheShiftsThatTheTestDoesNotReject) {
  const Shift shift = hodges_lehmann_shift(kTerm, kEarly, 0.95);
  EXPECT_NEAR(shift.estimate, -0.305, 1e-12);
  EXPECT_NEAR(shift.low, -0.76, 1e-12);
  EXPECT_NEAR(shift.high, 0.15, 1e-12);
  const auto p_of_shift = [](double by) {
    std::vector<double> moved = kEarly;
    for (double& value : moved) value -= by;
    return mann_whitney_p(kTerm, moved);
  };
  EXPECT_GT(p_of_shift(shift.low + 1e-6), 0.05);
  EXPECT_LE(p_of_shift(shift.low - 1e-6), 0.05);
  EXPECT_GT(p_of_shift(shift.high - 1e-6), 0.05);
  EXPECT_LE(p_of_shift(shift.high + 1e-6), 0.05);
}

TEST(HodgesLehmann, TooFewValuesBoundNothing) {
  const Shift shift = hodges_lehmann_shift({1, 2, 3}, {4, 5, 6}, 0.95);
  EXPECT_EQ(shift.estimate, 3);
  EXPECT_EQ(shift.low, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(shift.high, std::numeric_limits<double>::infinity());
}

TEST(Holm, StepsDown) {
  // 4 x 0.005, 3 x 0.01, then 2 x 0.03 and 1 x 0.04, which may not fall below it.
  const std::vector<double> adjusted = holm_adjusted({0.01, 0.04, 0.03, 0.005});
  const std::vector<double> expected{0.03, 0.06, 0.06, 0.02};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-15);
  EXPECT_EQ(holm_adjusted({0.9, 0.8}), (std::vector<double>{1.0, 1.0}));
  EXPECT_TRUE(holm_adjusted({}).empty());
}

TEST(HodgesLehmann, ItsOrderStatisticsAreThoseOfAllDifferences) {
  const Philox random(11, 1);
  std::vector<double> a;
  std::vector<double> b;
  // Coarse values, so that differences tie and zeros occur.
  for (std::uint64_t i = 0; i < 60; ++i) {
    a.push_back(std::round(random.uniform(2 * i, -4, 4)) / 8);
    if (i < 47) b.push_back(std::round(random.uniform(2 * i + 1, -4, 4)) / 8);
  }
  std::vector<double> differences;
  for (const double x : a) {
    for (const double y : b) differences.push_back(y - x);
  }
  std::sort(differences.begin(), differences.end());
  const Shift shift = hodges_lehmann_shift(a, b, 0.95);
  const std::size_t count = differences.size();
  EXPECT_EQ(shift.estimate, (differences[(count - 1) / 2] + differences[count / 2]) / 2);
  // The interval leaves out as many on both sides.
  const auto below = std::lower_bound(differences.begin(), differences.end(), shift.low);
  EXPECT_EQ(*below, shift.low);
  EXPECT_NE(std::find(differences.begin(), differences.end(), shift.high), differences.end());
  EXPECT_LT(shift.low, shift.estimate);
  EXPECT_GT(shift.high, shift.estimate);
}

TEST(HodgesLehmann, ManyValuesNeedNoMemoryOfTheirProduct) {
  std::vector<double> a(50'000);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i);
  std::vector<double> b = a;
  for (double& value : b) value += 1000;
  const Shift shift = hodges_lehmann_shift(a, b, 0.95);
  EXPECT_EQ(shift.estimate, 1000);
  EXPECT_GT(shift.low, 500);
  EXPECT_LT(shift.high, 1500);
}

}  // namespace
}  // namespace trainbench
