#include <gtest/gtest.h>

#include <cmath>

#include "common/core/philox.h"
#include "common/report/compare.h"

namespace trainbench {
namespace {

constexpr int kBlocks = 14;

/// A side of `blocks` blocks of two repetitions. Its machine drifts by tens of percent from block
/// to block, which `drift` makes equal on both sides; each process has its own +-0.5 %.
Report side(double time, std::uint64_t stream, int blocks = kBlocks, int first_block = 0) {
  const Philox drift(1, 0);
  const Philox own(2, stream);
  CaseResult result;
  result.id = CaseId::parse("train/mlp/cpu/fp32/batch:32");
  for (int block = first_block; block < first_block + blocks; ++block) {
    const auto index = static_cast<std::uint64_t>(block);
    const double seconds = time * drift.uniform(index, 1.0, 1.8) * own.uniform(index, 0.995, 1.005);
    for (const double repetition : {0.999, 1.001}) {
      Sample sample;
      sample.real_time = seconds * repetition;
      sample.iterations = 1;
      sample.process = block;
      sample.counters["wall_time"] = sample.real_time;
      result.samples.push_back(sample);
    }
  }
  Report report;
  report.results = {result};
  return report;
}

CaseComparison compared(const Report& base, const Report& fresh, bool by_block = true) {
  CompareOptions options;
  options.max_slowdown = 0.01;
  options.by_block = by_block;
  const Comparison comparison = compare({base}, {fresh}, options);
  EXPECT_EQ(comparison.cases.size(), 1u);
  return comparison.cases.front();
}

TEST(CompareBlocks, DriftThatBothSidesShareCancels) {
  const CaseComparison found = compared(side(1.0, 1), side(1.05, 2));
  EXPECT_EQ(found.verdict, Verdict::slower);
  EXPECT_EQ(found.unit, Unit::block);
  EXPECT_EQ(found.base_units, static_cast<std::size_t>(kBlocks));
  EXPECT_NEAR(found.ratio, 1.05, 0.005);
  EXPECT_LT(found.high / found.low, 1.01);
  EXPECT_EQ(found.threshold, 0.01) << "the drift raises no threshold";
  EXPECT_EQ(compared(side(1.05, 2), side(1.0, 1)).verdict, Verdict::faster);
  // The same values as processes on their own do not tell 5 % from such drift.
  EXPECT_NE(compared(side(1.0, 1), side(1.05, 2), false).verdict, Verdict::slower);
}

TEST(CompareBlocks, EqualSidesAreTheSame) {
  EXPECT_EQ(compared(side(1.0, 1), side(1.0, 2)).verdict, Verdict::same);
}

TEST(CompareBlocks, ABlockThatLacksASideIsLeftOut) {
  const CaseComparison found = compared(side(1.0, 1, 10, 0), side(1.05, 2, 10, 2));
  EXPECT_EQ(found.base_units, 8u);
  const CaseComparison none = compared(side(1.0, 1, 3, 0), side(1.05, 2, 3, 5));
  EXPECT_EQ(none.verdict, Verdict::ambiguous);
  EXPECT_EQ(none.notes, std::vector<std::string>{"no block measured both sides"});
}

TEST(CompareBlocks, TooFewNameTheNumberThatCould) {
  const CaseComparison found = compared(side(1.0, 1, 7), side(1.5, 2, 7));
  EXPECT_EQ(found.verdict, Verdict::ambiguous);
  EXPECT_EQ(found.notes, std::vector<std::string>{"too few blocks to decide; 8 could"});
  EXPECT_EQ(compared(side(1.0, 1, 8), side(1.5, 2, 8)).verdict, Verdict::slower);
}

}  // namespace
}  // namespace trainbench
