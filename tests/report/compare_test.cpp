#include "common/report/compare.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/core/philox.h"

namespace trainbench {
namespace {

/// A case of `count` repetitions around `time` with a uniform noise of +-1 %.
CaseResult timed(const std::string& name, double time, int count, std::uint64_t stream,
                 int processes = 1) {
  CaseResult result;
  result.id = {.family = "train", .name = name, .device = "cpu", .precision = "fp32", .keys = {}};
  const Philox random(7, stream);
  for (int i = 0; i < count; ++i) {
    Sample sample;
    sample.real_time = time * random.uniform(static_cast<std::uint64_t>(i), 0.99, 1.01);
    sample.iterations = 1;
    sample.process = i % processes;
    sample.counters["wall_time"] = sample.real_time;
    result.samples.push_back(sample);
  }
  return result;
}

Report report_of(std::vector<CaseResult> results) {
  Report report;
  report.results = std::move(results);
  return report;
}

CaseComparison only(const Report& base, const Report& fresh, const CompareOptions& options = {}) {
  const Comparison comparison = compare({base}, {fresh}, options);
  EXPECT_EQ(comparison.cases.size(), 1u);
  return comparison.cases.front();
}

std::string notes(const CaseComparison& comparison) {
  std::string text;
  for (const std::string& note : comparison.notes) text += note + "\n";
  return text;
}

TEST(Compare, EqualTimesAreTheSame) {
  const CaseComparison found =
      only(report_of({timed("a", 1.0, 10, 1)}), report_of({timed("a", 1.0, 10, 2)}));
  EXPECT_EQ(found.verdict, Verdict::same);
  EXPECT_NEAR(found.ratio, 1.0, 0.01);
  EXPECT_LE(found.low, found.ratio);
  EXPECT_GE(found.high, found.ratio);
}

TEST(Compare, TenPercentIsARegressionAndItsReverseAGain) {
  const Report base = report_of({timed("a", 1.0, 10, 1)});
  const Report slow = report_of({timed("a", 1.1, 10, 2)});
  const CaseComparison slower = only(base, slow);
  EXPECT_EQ(slower.verdict, Verdict::slower);
  EXPECT_NEAR(slower.ratio, 1.1, 0.01);
  EXPECT_GT(slower.low, 1.05);
  EXPECT_EQ(only(slow, base).verdict, Verdict::faster);
}

TEST(Compare, AChangeWithinTheThresholdIsTheSame) {
  const Report base = report_of({timed("a", 1.0, 20, 1)});
  const Report fresh = report_of({timed("a", 1.02, 20, 2)});
  EXPECT_EQ(only(base, fresh).verdict, Verdict::same);
  EXPECT_EQ(only(base, fresh, {.max_slowdown = 0.005}).verdict, Verdict::slower);
}

TEST(Compare, AnIntervalAcrossTheThresholdIsAmbiguous) {
  const CaseComparison found =
      only(report_of({timed("a", 1.0, 10, 1)}), report_of({timed("a", 1.05, 10, 2)}));
  EXPECT_EQ(found.verdict, Verdict::ambiguous);
  EXPECT_LT(found.low, 1.05);
  EXPECT_GT(found.high, 1.05);
}

TEST(Compare, TooFewRepetitionsNameTheNumberThatCould) {
  const CaseComparison found =
      only(report_of({timed("a", 1.0, 3, 1)}), report_of({timed("a", 2.0, 3, 2)}));
  EXPECT_EQ(found.verdict, Verdict::ambiguous);
  EXPECT_NE(notes(found).find("too few repetitions to decide; 5 a side could"), std::string::npos)
      << notes(found);
}

TEST(Compare, ANoisyBaseRaisesTheThreshold) {
  CaseResult noisy = timed("a", 1.0, 12, 1);
  for (std::size_t i = 0; i < noisy.samples.size(); ++i) {
    noisy.samples[i].counters["wall_time"] = i % 2 == 0 ? 0.9 : 1.1;
  }
  const CaseComparison found = only(report_of({noisy}), report_of({timed("a", 1.15, 12, 2)}));
  // Half the values lie 0.1 below the middle and half above: the deviation's median is
  // log(1.1/0.9)/2.
  EXPECT_NEAR(found.threshold, 2 * 1.4826 * std::log(1.1 / 0.9) / 2, 1e-6);
  EXPECT_NE(found.verdict, Verdict::slower);
  EXPECT_NE(notes(found).find("raised from 5.00%"), std::string::npos) << notes(found);
}

TEST(Compare, ProcessesAreTheUnitWhereThereAreSeveral) {
  const CaseComparison found =
      only(report_of({timed("a", 1.0, 40, 1, 8)}), report_of({timed("a", 1.1, 40, 2, 8)}));
  EXPECT_EQ(found.unit, Unit::process);
  EXPECT_EQ(found.base_units, 8u);
  EXPECT_EQ(found.verdict, Verdict::slower);

  const CaseComparison few =
      only(report_of({timed("a", 1.0, 40, 1, 2)}), report_of({timed("a", 1.1, 40, 2, 2)}));
  EXPECT_EQ(few.verdict, Verdict::ambiguous);
  EXPECT_NE(notes(few).find("too few processes"), std::string::npos) << notes(few);
}

TEST(Compare, FilesOfASideAreSeparateProcesses) {
  std::vector<Report> base;
  std::vector<Report> fresh;
  for (std::uint64_t i = 0; i < 6; ++i) {
    base.push_back(report_of({timed("a", 1.0, 5, i)}));
    fresh.push_back(report_of({timed("a", 1.1, 5, 10 + i)}));
  }
  const Comparison comparison = compare(base, fresh, {});
  ASSERT_EQ(comparison.cases.size(), 1u);
  EXPECT_EQ(comparison.cases[0].base_units, 6u);
  EXPECT_EQ(comparison.cases[0].verdict, Verdict::slower);
}

TEST(Compare, HolmsCorrectionCountsTheCases) {
  // Five a side can reach 2/252 and no less: enough for one case at 0.01, not for two.
  const Report base = report_of({timed("a", 1.0, 5, 1)});
  const Report slow = report_of({timed("a", 1.2, 5, 2)});
  EXPECT_EQ(only(base, slow).verdict, Verdict::slower);
  const Comparison two = compare({report_of({timed("a", 1.0, 5, 1), timed("b", 1.0, 5, 3)})},
                                 {report_of({timed("a", 1.2, 5, 2), timed("b", 1.0, 5, 4)})}, {});
  EXPECT_EQ(two.cases[0].verdict, Verdict::ambiguous);
  EXPECT_NEAR(two.cases[0].p_value, 2 * 2.0 / 252, 1e-12);
}

TEST(Compare, MissingNewAndFailedCases) {
  CaseResult broken = timed("broken", 1.0, 10, 3);
  broken.status = Status::failed;
  const Comparison comparison =
      compare({report_of({timed("gone", 1.0, 10, 1), timed("broken", 1.0, 10, 2)})},
              {report_of({broken, timed("fresh", 1.0, 10, 4)})}, {});
  ASSERT_EQ(comparison.cases.size(), 3u);
  EXPECT_EQ(comparison.cases[0].verdict, Verdict::missing);
  EXPECT_EQ(comparison.cases[1].verdict, Verdict::failed);
  EXPECT_EQ(comparison.cases[2].name, "train/fresh/cpu/fp32");
  EXPECT_EQ(comparison.cases[2].verdict, Verdict::added);
  EXPECT_TRUE(comparison.any(Verdict::failed));
  EXPECT_FALSE(comparison.any(Verdict::slower));
}

TEST(Compare, CountersAreJudgedToTheLastDigit) {
  Report base = report_of({timed("a", 1.0, 10, 1)});
  Report fresh = report_of({timed("a", 1.0, 10, 2)});
  base.results[0].counters["flops_per_iteration"] = 9007199254740991.0;
  fresh.results[0].counters["flops_per_iteration"] = 9007199254740992.0;
  EXPECT_EQ(only(base, fresh).verdict, Verdict::same) << "not asked for";
  const CompareOptions options{.exact = {"flops_per_iteration"}};
  const CaseComparison grown = only(base, fresh, options);
  EXPECT_EQ(grown.verdict, Verdict::slower);
  EXPECT_NE(notes(grown).find("9007199254740991 to 9007199254740992"), std::string::npos);
  EXPECT_EQ(only(fresh, base, options).verdict, Verdict::same) << "fewer is better";
  fresh.results[0].counters.clear();
  EXPECT_EQ(only(base, fresh, options).verdict, Verdict::slower) << "a counter that is gone";
}

TEST(Compare, MemoryThatGrowsIsARegression) {
  Report base = report_of({timed("a", 1.0, 10, 1)});
  Report fresh = report_of({timed("a", 1.0, 10, 2)});
  base.results[0].counters["memory_bytes_activations"] = 1000;
  fresh.results[0].counters["memory_bytes_activations"] = 1009;
  EXPECT_EQ(only(base, fresh).verdict, Verdict::same);
  fresh.results[0].counters["memory_bytes_activations"] = 1011;
  EXPECT_EQ(only(base, fresh).verdict, Verdict::slower);
}

TEST(Compare, ErrorsBeyondToleranceOrTwiceTheBasesAreRegressions) {
  Report base = report_of({timed("a", 1.0, 10, 1)});
  Report fresh = report_of({timed("a", 1.0, 10, 2)});
  base.results[0].counters = {{"max_relative_error", 1e-7}, {"error_of_tolerance", 0.1}};
  fresh.results[0].counters = {{"max_relative_error", 1.9e-7}, {"error_of_tolerance", 0.9}};
  EXPECT_EQ(only(base, fresh).verdict, Verdict::same);
  EXPECT_EQ(only(base, fresh, {.max_error_growth = 0.5}).verdict, Verdict::slower);
  fresh.results[0].counters["max_relative_error"] = 2.1e-7;
  const CaseComparison grown = only(base, fresh);
  EXPECT_EQ(grown.regressions, std::vector<std::string>{"max_relative_error"});
  fresh.results[0].counters = {{"max_relative_error", 1e-7}, {"error_of_tolerance", 1.5}};
  const CaseComparison beyond = only(base, fresh);
  EXPECT_EQ(beyond.verdict, Verdict::slower);
  EXPECT_EQ(beyond.regressions, std::vector<std::string>{"error"});
  EXPECT_NE(notes(beyond).find("1.50 times its tolerance"), std::string::npos) << notes(beyond);
}

TEST(Compare, AMetricOfWhichMoreIsBetterTurnsTheRatio) {
  CaseResult base = timed("a", 1.0, 10, 1);
  CaseResult fresh = timed("a", 1.0, 10, 2);
  for (Sample& sample : base.samples) sample.counters["samples_per_second"] = 1000;
  for (Sample& sample : fresh.samples) sample.counters["samples_per_second"] = 800;
  const CaseComparison found =
      only(report_of({base}), report_of({fresh}), {.metric = "samples_per_second"});
  EXPECT_EQ(found.verdict, Verdict::slower);
  EXPECT_NEAR(found.ratio, 1.25, 1e-12);
  EXPECT_EQ(found.regressions, std::vector<std::string>{"samples_per_second"});
}

TEST(Compare, ACaseWithoutTheMetricIsUndecided) {
  const Report base = report_of({timed("a", 1.0, 10, 1)});
  const CaseComparison found = only(base, base, {.metric = "gpu_time"});
  EXPECT_EQ(found.verdict, Verdict::ambiguous);
  EXPECT_NE(notes(found).find("no gpu_time"), std::string::npos) << notes(found);
}

TEST(Compare, SimulatedTimesAreNotJudgedButCountsAre) {
  Report base = report_of({timed("a", 1.0, 10, 1)});
  Report fresh = report_of({timed("a", 3.0, 10, 2)});
  fresh.results[0].simulated = true;
  const CaseComparison found = only(base, fresh);
  EXPECT_EQ(found.verdict, Verdict::same);
  EXPECT_EQ(found.ratio, 0);
  EXPECT_NE(notes(found).find("simulated"), std::string::npos) << notes(found);
  base.results[0].counters["launches_per_iteration"] = 10;
  fresh.results[0].counters["launches_per_iteration"] = 11;
  EXPECT_EQ(only(base, fresh, {.exact = {"launches_per_iteration"}}).verdict, Verdict::slower);
}

TEST(Compare, OneProcessAgainstSeveralIsSaid) {
  const CaseComparison found =
      only(report_of({timed("a", 1.0, 40, 1, 8)}), report_of({timed("a", 1.0, 40, 2, 1)}));
  EXPECT_EQ(found.unit, Unit::repetition);
  EXPECT_NE(notes(found).find("the new side is a single process"), std::string::npos)
      << notes(found);
}

TEST(Compare, WhatNeitherSideMeasuredHasNoVerdict) {
  CaseResult skipped = timed("a", 1.0, 0, 1);
  skipped.status = Status::skipped;
  skipped.reason = "no GPU";
  const Comparison neither = compare({report_of({skipped})}, {report_of({skipped})}, {});
  EXPECT_TRUE(neither.cases.empty());
  EXPECT_EQ(neither.skipped, std::vector<std::string>{"train/a/cpu/fp32"});
  const CaseComparison lost = only(report_of({timed("a", 1.0, 10, 1)}), report_of({skipped}));
  EXPECT_EQ(lost.verdict, Verdict::missing);
  EXPECT_NE(notes(lost).find("no GPU"), std::string::npos) << notes(lost);
  const CaseComparison first = only(report_of({skipped}), report_of({timed("a", 1.0, 10, 1)}));
  EXPECT_EQ(first.verdict, Verdict::added);
}

TEST(Compare, AFailureSaysWhy) {
  CaseResult broken = timed("a", 1.0, 10, 3);
  broken.status = Status::failed;
  broken.reason = "out of memory";
  const CaseComparison found = only(report_of({timed("a", 1.0, 10, 1)}), report_of({broken}));
  EXPECT_EQ(found.verdict, Verdict::failed);
  EXPECT_NE(notes(found).find("out of memory"), std::string::npos) << notes(found);
}

TEST(Compare, ARatioBeyondAllNumbersIsStillOne) {
  const CaseComparison found =
      only(report_of({timed("a", 1e-200, 10, 1)}), report_of({timed("a", 1e200, 10, 2)}));
  EXPECT_EQ(found.verdict, Verdict::slower);
  EXPECT_TRUE(std::isfinite(100 * found.ratio) && std::isfinite(found.high)) << found.ratio;
}

TEST(Counters, ShortNames) {
  EXPECT_EQ(counters_named("flops"), std::vector<std::string>{"flops_per_iteration"});
  EXPECT_EQ(counters_named("allocations"), std::vector<std::string>{"allocations"});
  EXPECT_EQ(counters_named("memory").size(), 5u);
  EXPECT_TRUE(higher_is_better("samples_per_second"));
  EXPECT_FALSE(higher_is_better("memory_bytes_workspace"));
}

}  // namespace
}  // namespace trainbench
