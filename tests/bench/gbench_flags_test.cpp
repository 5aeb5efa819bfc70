#include "bench/harness/gbench_flags.h"

#include <gtest/gtest.h>

#include "common/core/error.h"

namespace trainbench {
namespace {

TEST(GoogleBenchmarkFlags, SplitAtTheFirstSeparator) {
  char program[] = "trainbench", run[] = "run", separator[] = "--", flag[] = "--v=1";
  char* argv[] = {program, run, separator, flag, separator};
  const auto [ours, theirs] = split_arguments(5, argv);
  EXPECT_EQ(ours, (std::vector<std::string>{"trainbench", "run"}));
  EXPECT_EQ(theirs, (std::vector<std::string>{"--v=1", "--"}));
}

TEST(GoogleBenchmarkFlags, NothingFollowsWithoutASeparator) {
  char program[] = "trainbench", list[] = "list";
  char* argv[] = {program, list};
  const auto [ours, theirs] = split_arguments(2, argv);
  EXPECT_EQ(ours.size(), 2u);
  EXPECT_TRUE(theirs.empty());
}

TEST(GoogleBenchmarkFlags, OnlyTheAllowedPass) {
  EXPECT_NO_THROW(require_allowed_flags({"--benchmark_enable_random_interleaving=false"}));
  for (const char* refused : {"--benchmark_repetitions=3", "--benchmark_min_time=1", "--vv"}) {
    try {
      require_allowed_flags({refused});
      FAIL() << refused << " passed";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(refused), std::string::npos);
      EXPECT_NE(std::string(error.what()).find("--benchmark_perf_counters"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace trainbench
