#include "bench/harness/warmup.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace trainbench {
namespace {

constexpr WarmupRule kRule{
    .min_seconds = 0.05, .max_seconds = 2.0, .agreeing = 5, .tolerance = 0.02};

TEST(WarmUp, EndsWhenSamplesAgree) {
  // A device that gets faster: 100 ms, 50 ms, 25 ms, ... down to 10 ms a step.
  int calls = 0;
  const WarmupResult result = warm_up(kRule, [&](std::int64_t iterations) {
    const double step = std::max(0.010, 0.100 * std::pow(0.5, calls++));
    return step * static_cast<double>(iterations);
  });
  EXPECT_TRUE(result.agreed);
  EXPECT_DOUBLE_EQ(result.seconds_per_iteration, 0.010);
  EXPECT_EQ(calls, 4 + 5) << "four falling samples, then five that agree";
}

TEST(WarmUp, StopsByTimeWhenSamplesNeverAgree) {
  int calls = 0;
  const WarmupResult result =
      warm_up(kRule, [&](std::int64_t) { return ++calls % 2 == 0 ? 0.1 : 0.2; });
  EXPECT_FALSE(result.agreed);
  EXPECT_GE(result.seconds, kRule.max_seconds);
  EXPECT_LT(result.seconds, kRule.max_seconds + 0.2);
}

TEST(WarmUp, GroupsIterationsShorterThanAMillisecond) {
  std::vector<std::int64_t> groups;
  const WarmupResult result = warm_up(kRule, [&](std::int64_t iterations) {
    groups.push_back(iterations);
    return 1e-6 * static_cast<double>(iterations);
  });
  EXPECT_TRUE(result.agreed);
  EXPECT_NEAR(result.seconds_per_iteration, 1e-6, 1e-12);
  EXPECT_GE(groups.back(), 1000) << "a sample of at least a millisecond";
  EXPECT_GE(result.seconds, kRule.min_seconds);
}

}  // namespace
}  // namespace trainbench
