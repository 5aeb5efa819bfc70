#include "bench/harness/rates.h"

#include <gtest/gtest.h>

namespace trainbench {
namespace {

CaseResult measured(const std::string& device) {
  CaseResult result;
  result.id = {.family = "train", .name = "mlp", .device = device, .precision = "fp32", .keys = {}};
  result.counters = {
      {"samples_per_iteration", 256}, {"flops_per_iteration", 8e9}, {"bytes_per_iteration", 1e8}};
  Sample sample;
  sample.real_time = 0.0201;
  sample.iterations = 5;
  sample.counters["wall_time"] = 0.02;
  result.samples.push_back(sample);
  return result;
}

Peaks peaks(double flops) {
  Peaks peaks;
  peaks.flops["fp32"] = flops;
  peaks.bandwidth = 2e10;
  return peaks;
}

TEST(Rates, FollowFromTheWallTime) {
  CaseResult result = measured("cpu");
  add_rates(result, peaks(8e11));
  const auto& counters = result.samples[0].counters;
  EXPECT_DOUBLE_EQ(counters.at("samples_per_second"), 12800);
  EXPECT_FALSE(counters.contains("tokens_per_second")) << "images have none";
  EXPECT_DOUBLE_EQ(counters.at("flops_per_second"), 4e11);
  EXPECT_DOUBLE_EQ(counters.at("fraction_of_peak_flops"), 0.5);
  EXPECT_DOUBLE_EQ(counters.at("bytes_per_second"), 5e9);
  EXPECT_DOUBLE_EQ(counters.at("fraction_of_peak_bandwidth"), 0.25);
  EXPECT_NEAR(counters.at("harness_fraction"), 0.005, 1e-12);
  EXPECT_FALSE(result.details.contains("above_peak"));
}

TEST(Rates, ARateAboveThePeakIsMarked) {
  CaseResult result = measured("cpu");
  EXPECT_TRUE(add_rates(result, peaks(3e11)));
  EXPECT_TRUE(result.details.at("above_peak").get<bool>());
  EXPECT_FALSE(add_rates(result, peaks(5e11))) << "a peak measured better";
  EXPECT_FALSE(result.details.contains("above_peak"));
}

TEST(Rates, APeakBelowARowIsMeasuredAgainUntilItIsNot) {
  CaseResult result = measured("cpu");
  Peaks kept = peaks(3e11);
  int measurements = 0;
  settle_peaks(result, kept, [&] { return peaks(1e11 * (3 + 2 * ++measurements)); });
  EXPECT_EQ(measurements, 1) << "5e11 is above the row's 4e11";
  EXPECT_EQ(kept.flops.at("fp32"), 5e11);
  EXPECT_FALSE(result.details.contains("above_peak"));

  settle_peaks(result, kept, [&] { return peaks(1e11 * ++measurements); });
  EXPECT_EQ(measurements, 1) << "a row below its peak asks for nothing";
}

TEST(Rates, ARowAboveThePeakEvenThenStaysMarked) {
  CaseResult result = measured("cpu");
  Peaks kept = peaks(3e11);
  int measurements = 0;
  settle_peaks(result, kept, [&] { return peaks(1e11 * ++measurements); });
  EXPECT_EQ(measurements, 2);
  EXPECT_EQ(kept.flops.at("fp32"), 3e11) << "a worse measurement displaces none";
  EXPECT_TRUE(result.details.at("above_peak").get<bool>());
}

TEST(Rates, LargerKeepsTheBestOfEach) {
  const Peaks a{.flops = {{"fp32", 3}, {"bf16", 9}}, .gemm = {{"fp32", 2}}, .bandwidth = 7};
  const Peaks b{.flops = {{"fp32", 4}, {"fp64", 1}}, .gemm = {{"fp32", 1}}, .bandwidth = 5};
  const Peaks both = larger(a, b);
  EXPECT_EQ(both.flops, (std::map<std::string, double>{{"fp32", 4}, {"bf16", 9}, {"fp64", 1}}));
  EXPECT_EQ(both.gemm.at("fp32"), 2);
  EXPECT_EQ(both.bandwidth, 7);
}

TEST(Rates, NoFractionOfAPeakThatWasNotMeasured) {
  CaseResult result = measured("cpu");
  add_rates(result, Peaks{});
  EXPECT_TRUE(result.samples[0].counters.contains("flops_per_second"));
  EXPECT_FALSE(result.samples[0].counters.contains("fraction_of_peak_flops"));
  EXPECT_FALSE(result.samples[0].counters.contains("fraction_of_peak_bandwidth"));
}

/// A probe that moves 1e8 bytes in 20 ms: 5e9 a second.
CaseResult probe(const std::string& name, double cache_level) {
  CaseResult result = measured("cpu");
  result.id = CaseId::parse(name);
  result.counters = {{"bytes_per_iteration", 1e8}, {"cache_level", cache_level}};
  return result;
}

TEST(Rates, WhatACacheHoldsIsNoShareOfTheMemorysPeak) {
  CaseResult result = probe("stream/triad/cpu/fp32/kib:48", 1);
  EXPECT_FALSE(add_rates(result, peaks(8e11)));
  EXPECT_DOUBLE_EQ(result.samples[0].counters.at("bytes_per_second"), 5e9);
  EXPECT_FALSE(result.samples[0].counters.contains("fraction_of_peak_bandwidth"));
}

TEST(Rates, ATriadWellAboveThePeakHasItMeasuredAgain) {
  Peaks peak;
  peak.bandwidth = 4.7e9;  // the triad is 6 % above
  CaseResult triad = probe("stream/triad/cpu/fp32", 0);
  EXPECT_TRUE(add_rates(triad, peak));
  CaseResult copy = probe("stream/copy/cpu/fp32", 0);
  EXPECT_FALSE(add_rates(copy, peak)) << "the peak is that of another kernel";
  peak.bandwidth = 4.8e9;  // 4 %
  EXPECT_FALSE(add_rates(triad, peak));
}

TEST(Rates, PartsOfAnIterationAndHowManyMustBeUnderWay) {
  CaseResult walk = probe("latency/chase/cpu/fp32", 0);
  walk.counters = {{"loads_per_iteration", 2e5}, {"bytes_per_load", 64}};
  add_rates(walk, peaks(8e11));
  EXPECT_DOUBLE_EQ(walk.samples[0].counters.at("seconds_per_load"), 1e-7);
  EXPECT_DOUBLE_EQ(walk.samples[0].counters.at("concurrency_needed"), 1e-7 * 2e10 / 64);

  CaseResult chain = probe("latency/fma/cpu/fp32/chains:1", 0);
  chain.counters = {{"operations_in_turn", 2e7}, {"flops_per_operation", 2}};
  add_rates(chain, peaks(8e11));
  EXPECT_DOUBLE_EQ(chain.samples[0].counters.at("seconds_per_operation"), 1e-9);
  EXPECT_DOUBLE_EQ(chain.samples[0].counters.at("concurrency_needed"), 1e-9 * 8e11 / 2);
}

TEST(Rates, ASimulatedDeviceHasNoFraction) {
  CaseResult result = measured("gpu");
  result.simulated = true;
  add_rates(result, peaks(8e11));
  EXPECT_FALSE(result.samples[0].counters.contains("fraction_of_peak_flops"));
  EXPECT_FALSE(result.samples[0].counters.contains("harness_fraction"));
}

}  // namespace
}  // namespace trainbench
