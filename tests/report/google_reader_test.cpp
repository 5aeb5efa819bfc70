#include "common/report/google_reader.h"

#include <gtest/gtest.h>

#include "common/core/error.h"

namespace trainbench {
namespace {

Report read(const std::string& rows) {
  return read_google_benchmark(parse_json("{\"context\": {}, \"benchmarks\": [" + rows + "]}", "f"),
                               "f");
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

TEST(GoogleReader, ErrorsOfOldAndNewVersions) {
  const Report report = read(R"(
    {"name": "old", "run_type": "iteration", "error_occurred": true, "error_message": "no luck"},
    {"name": "new", "run_type": "iteration", "skipped": true, "error_message": "none either"})");
  for (const CaseResult& result : report.results) {
    EXPECT_EQ(result.status, Status::failed);
    EXPECT_TRUE(result.samples.empty());
  }
  EXPECT_EQ(report.results[0].reason, "no luck");
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
