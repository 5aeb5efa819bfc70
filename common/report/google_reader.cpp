#include "common/report/google_reader.h"

#include <limits>
#include <map>

#include "common/config/typed_reader.h"
#include "common/core/error.h"
#include "common/report/json.h"

namespace trainbench {
namespace {

constexpr double kMost = std::numeric_limits<double>::max();
constexpr std::size_t kMostRows = 10'000'000;

double seconds_a_unit(const ObjectReader& row) {
  const auto unit = row.optional("time_unit");
  const std::string name = unit ? unit->choice({"ns", "us", "ms", "s"}) : "ns";
  if (name == "ns") return 1e-9;
  if (name == "us") return 1e-6;
  return name == "ms" ? 1e-3 : 1.0;
}

/// A repetition that Google Benchmark marks as failed: "error_occurred" to 1.7, "skipped" since.
bool failed(const ObjectReader& row) {
  for (const char* key : {"error_occurred", "skipped"}) {
    const auto flag = row.optional(key);
    if (flag && flag->value().is_boolean() && flag->boolean()) return true;
  }
  return false;
}

bool is_aggregate(const ObjectReader& row) {
  const auto type = row.optional("run_type");
  return type && type->text() == "aggregate";
}

std::string name_of_case(const ObjectReader& row) {
  const auto run_name = row.optional("run_name");
  return run_name ? run_name->text() : row.required("name").text();
}

Sample read_sample(const ObjectReader& row) {
  const double unit = seconds_a_unit(row);
  Sample sample;
  sample.iterations = row.required("iterations").integer(0, INT64_MAX);
  sample.real_time = row.required("real_time").number(0, kMost) * unit;
  sample.cpu_time = row.required("cpu_time").number(0, kMost) * unit;
  return sample;
}

}  // namespace

Report read_google_benchmark(const Json& document, const std::string& file) {
  Report report;
  const ObjectReader top(JsonNode(document, file));
  const JsonNode rows = top.required("benchmarks");
  std::map<std::string, std::size_t> index;
  bool any_aggregate = false;
  for (const JsonNode& node : rows.elements(0, kMostRows)) {
    const ObjectReader row(node);
    if (is_aggregate(row)) {
      any_aggregate = true;
      continue;
    }
    const std::string name = name_of_case(row);
    const auto [found, fresh] = index.try_emplace(name, report.results.size());
    if (fresh) {
      CaseResult result;
      result.id = CaseId::of_another_program(name);
      report.results.push_back(std::move(result));
    }
    CaseResult& result = report.results[found->second];
    if (failed(row)) {
      result.status = Status::failed;
      if (const auto message = row.optional("error_message")) {
        result.reason = message->text(0, 1 << 20);
      }
    } else {
      result.samples.push_back(read_sample(row));
    }
  }
  if (report.results.empty() && any_aggregate) {
    rows.fail(
        "holds aggregates only; single repetitions are needed: run without "
        "--benchmark_report_aggregates_only");
  }
  return report;
}

Report read_any_result_file(const std::string& path) {
  const Json document = read_json_file(path, kResultLimits);
  const Json::json_pointer own("/context/trainbench");
  return document.is_object() && document.contains(own) ? read_report(document, path)
                                                        : read_google_benchmark(document, path);
}

}  // namespace trainbench
