#include "common/report/export.h"

#include <algorithm>
#include <map>
#include <set>

#include "common/config/json_file.h"
#include "common/report/case_values.h"
#include "common/report/counters.h"
#include "common/report/csv_field.h"
#include "common/report/numbers.h"
#include "common/report/statistics.h"

namespace trainbench {
namespace {

constexpr double kNanoseconds = 1e9;

std::vector<const CaseResult*> cases_with_speed(const Report& report) {
  std::vector<const CaseResult*> cases;
  for (const CaseResult& result : report.results) {
    if (has_speed(result)) cases.push_back(&result);
  }
  return cases;
}

Json bounded(const Summary& summary, double scale = 1) {
  return {{"value", scale * summary.median},
          {"lower_value", scale * summary.first_quartile},
          {"upper_value", scale * summary.third_quartile}};
}

std::string dumped(const Json& document) {
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// The columns of a case in a history, and their values.
std::map<std::string, double> columns_of(const CaseResult& result) {
  const std::string name = result.id.full_name();
  std::map<std::string, double> columns{
      {name + " time_ns", kNanoseconds * median(metric_values(result, kWallTime))}};
  if (const double bytes = memory_bytes_of(result); bytes > 0) {
    columns[name + " memory_bytes"] = bytes;
  }
  return columns;
}

}  // namespace

std::string to_github_action_benchmark(const Report& report) {
  Json list = Json::array();
  for (const CaseResult* result : cases_with_speed(report)) {
    const Throughput rate = throughput_of(*result);
    const Summary summary = summarize(rate.values);
    list.push_back(
        {{"name", result->id.full_name()},
         {"unit", rate.unit},
         {"value", summary.median},
         {"range",
          significant(summary.first_quartile, 4) + " to " + significant(summary.third_quartile, 4)},
         {"extra", "median and quartiles of " + std::to_string(summary.count) + " repetitions"}});
  }
  return dumped(list);
}

std::string to_bencher(const Report& report) {
  Json document = Json::object();
  for (const CaseResult* result : cases_with_speed(report)) {
    Json& measures = document[result->id.full_name()];
    measures["latency"] = bounded(summarize(metric_values(*result, kWallTime)), kNanoseconds);
    measures["throughput"] = bounded(summarize(throughput_of(*result).values));
    if (const double bytes = memory_bytes_of(*result); bytes > 0) {
      measures["memory"] = {{"value", bytes}};
    }
  }
  return dumped(document);
}

History to_history(const std::vector<RunFile>& runs) {
  std::vector<std::pair<const RunFile*, std::map<std::string, double>>> rows;
  std::vector<std::string> order;  // of the columns, by first appearance
  std::map<std::string, std::size_t> filled;
  for (const RunFile& run : runs) {
    std::map<std::string, double> row;
    for (const CaseResult* result : cases_with_speed(run.report)) {
      for (const auto& [column, value] : columns_of(*result)) {
        if (filled[column]++ == 0) order.push_back(column);
        row[column] = value;
      }
    }
    if (!row.empty()) rows.emplace_back(&run, std::move(row));
  }
  History history;
  for (const std::string& column : order) {
    (filled[column] == rows.size() ? history.columns : history.incomplete).push_back(column);
  }
  history.csv = "time,commit";
  for (const std::string& column : history.columns) history.csv += "," + csv_field(column);
  history.csv += "\n";
  for (const auto& [run, row] : rows) {
    history.csv += utc_date(run->time) + "," + csv_field(run->commit);
    for (const std::string& column : history.columns) {
      history.csv += "," + Json(row.at(column)).dump();
    }
    history.csv += "\n";
  }
  return history;
}

std::string to_otava_config(const History& history, const std::string& csv_file) {
  Json metrics = Json::object();
  for (const std::string& column : history.columns) metrics[column] = {{"direction", -1}};
  const Json test{{"type", "csv"},
                  {"file", csv_file},
                  {"time_column", "time"},
                  {"attributes", {"commit"}},
                  {"metrics", std::move(metrics)}};
  return dumped({{"tests", {{"trainbench", test}}}});
}

}  // namespace trainbench
