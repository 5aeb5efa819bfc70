#include "common/report/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "common/core/error.h"
#include "tests/report/sample_report.h"

namespace trainbench {
namespace {

void expect_equal(const CaseResult& a, const CaseResult& b) {
  SCOPED_TRACE(b.id.full_name());
  EXPECT_EQ(a.id.full_name(), b.id.full_name());
  EXPECT_EQ(a.status, b.status);
  EXPECT_EQ(a.reason, b.reason);
  EXPECT_EQ(a.simulated, b.simulated);
  EXPECT_EQ(a.counters, b.counters);
  EXPECT_EQ(a.details, b.details);
  ASSERT_EQ(a.served.size(), b.served.size());
  for (std::size_t i = 0; i < a.served.size(); ++i) {
    EXPECT_EQ(a.served[i].operation, b.served[i].operation);
    EXPECT_EQ(a.served[i].provider, b.served[i].provider);
  }
  ASSERT_EQ(a.samples.size(), b.samples.size());
  for (std::size_t i = 0; i < a.samples.size(); ++i) {
    EXPECT_EQ(a.samples[i].real_time, b.samples[i].real_time);
    EXPECT_EQ(a.samples[i].cpu_time, b.samples[i].cpu_time);
    EXPECT_EQ(a.samples[i].iterations, b.samples[i].iterations);
    EXPECT_EQ(a.samples[i].process, b.samples[i].process);
    EXPECT_EQ(a.samples[i].counters, b.samples[i].counters);
  }
}

Report round_trip(const Report& report) { return read_report(to_json(report), "r.json"); }

TEST(ResultJson, RoundTripKeepsEverything) {
  Report report = sample_report();
  report.partial = true;
  report.results[1].simulated = true;
  report.results[0].samples[1].process = 3;
  // Doubles that need all their digits.
  report.results[0].samples[0].real_time = 0.1 + 0.2;
  report.results[0].samples[0].counters["loss_last"] = std::nextafter(1.0, 2.0);
  report.results[0].samples[1].counters["smallest"] = std::numeric_limits<double>::denorm_min();
  report.results[0].samples[1].counters["largest"] = -std::numeric_limits<double>::max();
  // One repetition: nothing tells a case's counters from a sample's but what is written.
  report.results[2].samples.resize(1);
  const Report read = round_trip(report);
  EXPECT_EQ(read.partial, report.partial);
  EXPECT_EQ(read.context, report.context);
  EXPECT_EQ(read.google_context, report.google_context);
  ASSERT_EQ(read.results.size(), report.results.size());
  for (std::size_t i = 0; i < report.results.size(); ++i) {
    expect_equal(read.results[i], report.results[i]);
  }
  EXPECT_EQ(to_json(read), to_json(report));
}

TEST(ResultJson, RowsHaveGoogleBenchmarksKeysInItsOrder) {
  const Json document = to_json_document(sample_report());
  const Json& row = document["benchmarks"][0];
  std::string keys;
  for (const auto& [key, value] : row.items()) keys += key + " ";
  EXPECT_EQ(keys.find("name family_index per_family_instance_index run_name run_type repetitions "
                      "repetition_index threads iterations real_time cpu_time time_unit "),
            0u)
      << keys;
  EXPECT_EQ(row["name"], "train/mlp/cpu/fp32/batch:256");
  EXPECT_EQ(row["run_name"], row["name"]);
  EXPECT_EQ(row["repetitions"], 10);
  EXPECT_EQ(row["iterations"], 12);
  EXPECT_EQ(row["time_unit"], "s");
  EXPECT_EQ(document["context"]["trainbench"]["schema_version"], kSchemaVersion);
}

TEST(ResultJson, PlacesCountWithinTheFamily) {
  Report report = sample_report();
  report.results.push_back(sample_case("loader/images28/cpu/u8/batch:256", 0.001));
  const Json document = to_json_document(report);
  std::map<std::string, std::pair<int, int>> places;
  for (const Json& row : document["benchmarks"]) {
    places[row["run_name"]] = {row["family_index"], row["per_family_instance_index"]};
  }
  EXPECT_EQ(places["train/mlp/cpu/fp32/batch:256"], std::make_pair(0, 0));
  EXPECT_EQ(places["train/mlp/gpu/tf32/batch:256"], std::make_pair(0, 7));
  EXPECT_EQ(places["loader/images28/cpu/u8/batch:256"], std::make_pair(1, 0));
}

TEST(ResultJson, AggregatesAreThoseOfTheRepetitions) {
  const Json document = to_json_document(sample_report());
  std::map<std::string, Json> rows;
  for (const Json& row : document["benchmarks"]) {
    if (row["run_name"] == "train/mlp/cpu/fp32/batch:256" && row["run_type"] == "aggregate") {
      rows[row["aggregate_name"]] = row;
    }
  }
  ASSERT_EQ(rows.size(), 4u);
  // Ten values seconds (1 + 0.01 i), i = 0..9: mean and median at i = 4.5, and a sum of squares
  // around it of 82.5 steps.
  const double deviation = 0.036 * 0.01 * std::sqrt(82.5 / 9);
  EXPECT_DOUBLE_EQ(rows["mean"]["real_time"].get<double>(), 0.036 * 1.045);
  EXPECT_DOUBLE_EQ(rows["median"]["real_time"].get<double>(), 0.036 * 1.045);
  EXPECT_NEAR(rows["stddev"]["real_time"].get<double>(), deviation, 1e-15);
  EXPECT_NEAR(rows["cv"]["real_time"].get<double>(), deviation / (0.036 * 1.045), 1e-13);
  EXPECT_EQ(rows["mean"]["name"], "train/mlp/cpu/fp32/batch:256_mean");
  EXPECT_EQ(rows["mean"]["iterations"], 10);
  EXPECT_EQ(rows["mean"]["aggregate_unit"], "time");
  EXPECT_EQ(rows["cv"]["aggregate_unit"], "percentage");
  EXPECT_EQ(rows["mean"]["loss_first"], 2.3125);
  EXPECT_EQ(rows["cv"]["loss_first"], 0);
}

TEST(ResultJson, RowsWithoutAMeasurementCarryGoogleBenchmarksErrorKeys) {
  const Json document = to_json_document(sample_report());
  int seen = 0;
  for (const Json& row : document["benchmarks"]) {
    const bool failed = row["run_name"] == "train/mlp/gpu/tf32/batch:256";
    const bool skipped = row["run_name"] == "train/mlp/gpu/fp16/batch:256";
    EXPECT_EQ(row.contains("error_occurred"), failed || skipped);
    if (!failed && !skipped) {
      EXPECT_EQ(row["trainbench"]["status"], "ok");
      EXPECT_FALSE(row["trainbench"].contains("reason"));
      continue;
    }
    ++seen;
    EXPECT_EQ(row["error_occurred"], true);
    EXPECT_EQ(row["error_message"], row["trainbench"]["reason"]);
    EXPECT_EQ(row["trainbench"]["status"], failed ? "failed" : "skipped");
    EXPECT_EQ(row["iterations"], 0);
  }
  EXPECT_EQ(seen, 2);
}

TEST(ResultJson, ACaseWithoutARepetitionIsNotOk) {
  Report report;
  report.results = {unmeasured_case("train/mlp/cpu/fp32/batch:8", Status::ok, "")};
  const Json document = to_json_document(report);
  const Json& row = document["benchmarks"][0];
  EXPECT_EQ(row["trainbench"]["status"], "failed");
  EXPECT_EQ(row["error_message"], "no repetition was measured");
}

TEST(ResultJson, NumbersThatAreNotFiniteAreLeftOutWithAReason) {
  Report report = sample_report();
  report.context["peak"] = {{"value", std::numeric_limits<double>::infinity()}};
  report.context["list"] = {1.0, std::nan("")};
  report.results[0].samples[0].counters["loss_last"] = std::nan("");
  report.results[0].samples[1].real_time = std::numeric_limits<double>::infinity();
  report.results[0].counters["max_relative_error"] = std::numeric_limits<double>::infinity();
  const Json document = parse_json(to_json(report), "r.json", kResultLimits);
  const Json& row = document["benchmarks"][0];
  EXPECT_FALSE(row.contains("loss_last"));
  EXPECT_FALSE(row.contains("max_relative_error"));
  EXPECT_EQ(row["trainbench"]["omitted"],
            Json({{"max_relative_error", "infinite"}, {"loss_last", "not a number"}}));
  EXPECT_EQ(document["benchmarks"][1]["real_time"], 0);
  EXPECT_EQ(document["benchmarks"][1]["trainbench"]["omitted"]["real_time"], "infinite");
  const Json& context = document["context"]["trainbench"];
  EXPECT_FALSE(context["peak"].contains("value"));
  EXPECT_TRUE(context["list"][1].is_null());
  EXPECT_EQ(document["context"]["trainbench"]["omitted"],
            Json({{"trainbench/peak/value", "infinite"}, {"trainbench/list/1", "not a number"}}));
  EXPECT_NO_THROW(round_trip(report));
}

TEST(ResultJson, BytesThatAreNoTextDoNotCostTheResults) {
  Report report = sample_report();
  report.results[6].reason = "driver said \xff";
  EXPECT_NO_THROW(round_trip(report));
}

std::string message_of(const Json& document) {
  try {
    read_report(document.dump(), "r.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(ResultJson, ReaderNamesWhatIsWrong) {
  const Json good = to_json_document(sample_report());
  ASSERT_EQ(message_of(good), "");
  const auto broken = [&](const std::function<void(Json&)>& change) {
    Json document = good;
    change(document);
    return message_of(document);
  };
  EXPECT_EQ(message_of(Json::array()), "r.json: must be an object, not array");
  EXPECT_EQ(broken([](Json& d) { d["context"].erase("trainbench"); }),
            "r.json: /context: has no \"trainbench\" object; a result of trainbench run is needed");
  EXPECT_EQ(broken([](Json& d) { d["context"]["trainbench"]["schema_version"] = 99; }),
            "r.json: /context/trainbench: schema_version 99 is newer than 1, the newest that this "
            "program reads");
  EXPECT_EQ(broken([](Json& d) { d["context"]["trainbench"]["devices"][1]["units"] = "many"; }),
            "r.json: /context/trainbench/devices/1/units: must be a whole number from 0 to "
            "2147483647, not \"many\"");
  EXPECT_EQ(broken([](Json& d) { d["benchmarks"][1].erase("real_time"); }),
            "r.json: /benchmarks/1: the key \"real_time\" is missing");
  EXPECT_EQ(broken([](Json& d) { d["benchmarks"][0]["trainbench"]["status"] = "fine"; }),
            "r.json: /benchmarks/0/trainbench/status: unknown value \"fine\"; one of ok, failed, "
            "skipped");
  EXPECT_EQ(broken([](Json& d) { d["benchmarks"][0]["run_name"] = "mlp"; }),
            "r.json: /benchmarks/0/run_name: \"mlp\" is no case's name: "
            "family/case/device/precision/key:value...");
}

TEST(CaseId, NameAndPartsAreTheSame) {
  const std::string name = "train/mlp/gpu/bf16/batch:256/boundary:end-to-end/hidden:64";
  const CaseId id = CaseId::parse(name);
  EXPECT_EQ(id.full_name(), name);
  EXPECT_EQ(id.device, "gpu");
  EXPECT_EQ(id.integer("batch", 0), 256);
  EXPECT_EQ(id.text("boundary", ""), "end-to-end");
  EXPECT_EQ(id.integer("threads", 7), 7);
  for (const char* bad :
       {"", "train", "a/b/c", "a//c/d", "a/b/c/d/", "a/b/c/d/e", "a/b/c/d/:1", "a/b/c/d/k:"}) {
    EXPECT_THROW(CaseId::parse(bad), InputError) << bad;
  }
}

}  // namespace
}  // namespace trainbench
