#include "common/report/google_reader.h"

#include <gtest/gtest.h>

#include "common/core/error.h"

namespace trainbench {
namespace {

Report read(const std::string& rows) {
  return read_any_result("{\"context\": {}, \"benchmarks\": [" + rows + "]}", "f");
}

TEST(GoogleReader, RepetitionsInSecondsWithoutAggregates) {
  const Report report = read(R"(
    {"name": "BM_a/8", "run_name": "BM_a/8", "run_type": "iteration", "repetition_index": 0,
     "iterations": 10, "real_time": 1.5, "cpu_time": 1.25, "time_unit": "ms"},
    {"name": "BM_a/8", "run_name": "BM_a/8", "run_type": "iteration", "repetition_index": 1,
     "iterations": 10, "real_time": 1.6, "cpu_time": 1.25, "time_unit": "ms"},
    {"name": "BM_a/8_mean", "run_name": "BM_a/8", "run_type": "aggregate", "aggregate_name": "mean",
     "iterations": 2, "real_time": 9, "cpu_time": 9, "time_unit": "ms"},
    {"name": "BM_b", "iterations": 3, "real_time": 20, "cpu_time": 20})");
  ASSERT_EQ(report.results.size(), 2u);
  EXPECT_EQ(report.results[0].id.full_name(), "BM_a/8");
  ASSERT_EQ(report.results[0].samples.size(), 2u);
  EXPECT_DOUBLE_EQ(report.results[0].samples[1].real_time, 1.6e-3);
  EXPECT_DOUBLE_EQ(report.results[1].samples[0].real_time, 20e-9) << "nanoseconds unless said";
}

TEST(GoogleReader, ErrorsFailAndSkipsSkip) {
  const Report report = read(R"(
    {"name": "a", "run_type": "iteration", "error_occurred": true, "error_message": "no luck"},
    {"name": "b", "run_type": "iteration", "skipped": true, "skip_message": "no such unit"})");
  EXPECT_EQ(report.results[0].status, Status::failed);
  EXPECT_EQ(report.results[0].reason, "no luck");
  EXPECT_EQ(report.results[1].status, Status::skipped) << "since 1.8";
  EXPECT_EQ(report.results[1].reason, "no such unit");
  for (const CaseResult& result : report.results) EXPECT_TRUE(result.samples.empty());
}

TEST(GoogleReader, NamesAreOneLine) {
  const Report report = read(R"(
    {"name": "a\u0000b", "iterations": 1, "real_time": 1, "cpu_time": 1},
    {"name": "a\nb", "iterations": 1, "real_time": 1, "cpu_time": 1},
    {"name": "a\u0000b", "iterations": 1, "real_time": 1, "cpu_time": 1})");
  ASSERT_EQ(report.results.size(), 2u);
  EXPECT_EQ(report.results[0].id.full_name(), "a\\u0000b");
  EXPECT_EQ(report.results[0].samples.size(), 2u);
  EXPECT_EQ(report.results[1].id.full_name(), "a\\u000ab");
}

TEST(GoogleReader, EveryVersionsRows) {
  // What 1.5, 1.6 and 1.8 added to a row: nothing of it is a counter, but the last four are.
  const Report report = read(R"(
    {"name": "v5", "run_name": "v5", "run_type": "iteration", "repetitions": 1,
     "repetition_index": 0, "threads": 1, "iterations": 10, "real_time": 1, "cpu_time": 1,
     "time_unit": "ns", "items_per_second": 2.5e6},
    {"name": "v6", "family_index": 0, "per_family_instance_index": 0, "run_name": "v6",
     "run_type": "iteration", "repetitions": 1, "repetition_index": 0, "threads": 1,
     "iterations": 10, "real_time": 1, "cpu_time": 1, "time_unit": "s", "label": "text"},
    {"name": "v6_BigO", "family_index": 0, "per_family_instance_index": 0, "run_name": "v6",
     "run_type": "aggregate", "repetitions": 1, "threads": 1, "aggregate_name": "BigO",
     "aggregate_unit": "time", "cpu_coefficient": 1, "real_coefficient": 1, "big_o": "N",
     "time_unit": "ns"},
    {"name": "v6_RMS", "run_name": "v6", "run_type": "aggregate", "aggregate_name": "RMS",
     "aggregate_unit": "percentage", "rms": 0.1},
    {"name": "v9", "family_index": 1, "per_family_instance_index": 0, "run_name": "v9",
     "run_type": "iteration", "repetitions": 1, "repetition_index": 0, "threads": 1,
     "iterations": 10, "real_time": 1, "cpu_time": 1, "time_unit": "us", "allocs_per_iter": 3,
     "max_bytes_used": 4, "total_allocated_bytes": 5, "net_heap_growth": -6})");
  ASSERT_EQ(report.results.size(), 3u);
  using Counters = std::map<std::string, double>;
  EXPECT_EQ(report.results[0].samples[0].counters, (Counters{{"items_per_second", 2.5e6}}));
  EXPECT_EQ(report.results[1].samples[0].counters, Counters{});
  EXPECT_EQ(report.results[2].samples[0].counters, (Counters{{"allocs_per_iter", 3},
                                                             {"max_bytes_used", 4},
                                                             {"net_heap_growth", -6},
                                                             {"total_allocated_bytes", 5}}));
}

TEST(GoogleReader, NanAndInfinityAreNoCounters) {
  const Report report = read(R"(
    {"name": "a \"NaN\", Infinity", "iterations": 10, "real_time": 1, "cpu_time": 1, "x":NaN,
     "y": -Infinity, "z": Infinity, "u": -NaN, "w": 7})");
  ASSERT_EQ(report.results.size(), 1u);
  EXPECT_EQ(report.results[0].id.full_name(), "a \"NaN\", Infinity");
  EXPECT_EQ(report.results[0].samples[0].counters, (std::map<std::string, double>{{"w", 7}}));
  EXPECT_THROW(read(R"({"name": "a", "iterations": 1, "real_time": NaN, "cpu_time": 1})"),
               InputError);
  EXPECT_THROW(read(R"({"name": "a", "iterations": 1, "real_time": 1, "cpu_time": NotANumber})"),
               InputError);
}

TEST(GoogleReader, TheContextMayComeLast) {
  const std::string row =
      R"({"name": "a", "iterations": 1, "real_time": 1, "cpu_time": 1, "time_unit": "s"})";
  const Report report = read_any_result(
      "{\"benchmarks\": [" + row + "," + row + "], \"context\": {\"host_name\": \"h\"}}", "f");
  ASSERT_EQ(report.results.size(), 1u);
  EXPECT_EQ(report.results[0].samples.size(), 2u);
  EXPECT_EQ(report.google_context.at("host_name"), "h");
}

TEST(GoogleReader, OneCaseOfAggregatesAmongOthersIsSkippedWithTheReason) {
  const Report report = read(R"(
    {"name": "a_mean", "run_name": "a", "run_type": "aggregate", "iterations": 2, "real_time": 9,
     "cpu_time": 9, "time_unit": "ms"},
    {"name": "b", "run_name": "b", "run_type": "iteration", "iterations": 2, "real_time": 9,
     "cpu_time": 9, "time_unit": "ms"})");
  ASSERT_EQ(report.results.size(), 2u);
  EXPECT_EQ(report.results[0].outcome(), Status::skipped);
  EXPECT_NE(report.results[0].reason.find("aggregates only"), std::string::npos);
  EXPECT_EQ(report.results[1].outcome(), Status::ok);
}

TEST(GoogleReader, AggregatesAloneAreRefused) {
  try {
    read(R"({"name": "a_mean", "run_name": "a", "run_type": "aggregate", "iterations": 2,
             "real_time": 9, "cpu_time": 9, "time_unit": "ms"})");
    FAIL() << "read";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("aggregates only"), std::string::npos);
  }
}

TEST(GoogleReader, WrongTypesAreNamed) {
  for (const char* row :
       {R"({"run_type": "iteration"})", R"({"name": "a", "iterations": -1})",
        R"({"name": "a", "iterations": 1, "real_time": "1", "cpu_time": 1})",
        R"({"name": "a", "iterations": 1, "real_time": 1, "cpu_time": 1, "time_unit": "h"})"}) {
    EXPECT_THROW(read(row), InputError) << row;
  }
}

}  // namespace
}  // namespace trainbench
