#include "common/report/signed_rank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/core/philox.h"

namespace trainbench {
namespace {

// Hollander and Wolfe's depression data, as R's wilcox.test documents them: before less after.
const std::vector<double> kDepression{0.952, -0.147, 1.022, 0.43, 0.62, 0.59, 0.49, -0.08, 0.01};

TEST(SignedRank, ExactWithoutTies) {
  EXPECT_NEAR(signed_rank_p(kDepression), 0.0390625, 1e-15);
  EXPECT_NEAR(signed_rank_p({1, 2, 3, 4, 5, 6}), 2.0 / 64, 1e-15);
  EXPECT_NEAR(signed_rank_p({-1, -2, -3, -4, -5, -6}), 2.0 / 64, 1e-15);
  EXPECT_NEAR(signed_rank_p({1, -2}), 1.0, 1e-15);
}

TEST(SignedRank, ExactWithTiesAndZeros) {
  // By enumeration: with 34 of the 128 signs the rank sum is as far out.
  EXPECT_NEAR(signed_rank_p({1, -1, 2, 2, -3, 4, 4}), 34.0 / 128, 1e-15);
  EXPECT_NEAR(signed_rank_p({0, 1, -1, 2, 0, 2, -3, 4, 4}), 34.0 / 128, 1e-15);
  EXPECT_EQ(signed_rank_p({0, 0, 0}), 1.0);
}

TEST(SignedRank, SmallestPossiblePValue) {
  EXPECT_NEAR(least_signed_rank_p(6), 2.0 / 64, 1e-15);
  EXPECT_EQ(least_signed_rank_p(0), 1.0);
  EXPECT_EQ(least_pairs(2.0 / 64), 6u);
  EXPECT_EQ(least_pairs(0.01), 8u);
  EXPECT_EQ(least_pairs(0.001), 11u);
}

TEST(SignedRank, ErrsAtMostAsOftenAsItSays) {
  // 4,000 samples of differences that are symmetric around zero, each of a width of its own.
  const Philox random(5, 2);
  int rejections = 0;
  constexpr int kTrials = 4000;
  for (std::uint64_t trial = 0; trial < kTrials; ++trial) {
    std::vector<double> differences;
    for (std::uint64_t i = 0; i < 12; ++i) {
      const double width = random.uniform(48 * trial + 2 * i);
      differences.push_back(width * random.uniform(48 * trial + 2 * i + 1, -1, 1));
    }
    rejections += signed_rank_p(differences) <= 0.05;
  }
  EXPECT_LT(rejections, kTrials * 0.05 + 4 * std::sqrt(kTrials * 0.05 * 0.95));
  EXPECT_GT(rejections, kTrials * 0.02);
}

TEST(PseudoMedian, IntervalIsTheCentresThatTheTestDoesNotReject) {
  const Shift shift = pseudo_median(kDepression, 0.95);
  EXPECT_NEAR(shift.estimate, 0.46, 1e-12);
  EXPECT_NEAR(shift.low, 0.01, 1e-12);
  EXPECT_NEAR(shift.high, 0.786, 1e-12);
  const auto p_of_centre = [](double centre) {
    std::vector<double> moved = kDepression;
    for (double& value : moved) value -= centre;
    return signed_rank_p(moved);
  };
  EXPECT_GT(p_of_centre(shift.low + 1e-6), 0.05);
  EXPECT_LE(p_of_centre(shift.low - 1e-6), 0.05);
  EXPECT_GT(p_of_centre(shift.high - 1e-6), 0.05);
  EXPECT_LE(p_of_centre(shift.high + 1e-6), 0.05);
}

TEST(PseudoMedian, TooFewPairsBoundNothing) {
  const Shift shift = pseudo_median({1, 2, 3, 4, 5}, 0.95);
  EXPECT_EQ(shift.estimate, 3);
  EXPECT_EQ(shift.low, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(shift.high, std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isfinite(pseudo_median({1, 2, 3, 4, 5, 6}, 0.95).high));
}

}  // namespace
}  // namespace trainbench
