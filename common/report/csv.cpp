#include <set>

#include "common/config/json_file.h"
#include "common/report/counters.h"
#include "common/report/csv_field.h"
#include "common/report/statistics.h"
#include "common/report/table.h"

namespace trainbench {
namespace {

std::string number(double value) { return Json(value).dump(); }

}  // namespace

std::string to_csv(const Report& report) {
  std::set<std::string> keys;
  std::set<std::string> counters;
  for (const CaseResult& result : report.results) {
    for (const auto& [key, value] : result.id.keys) keys.insert(key);
    for (const auto& [name, value] : result.counters) counters.insert(name);
    for (const Sample& sample : result.samples) {
      for (const auto& [name, value] : sample.counters) counters.insert(name);
    }
  }

  std::string text = "name,status,reason,simulated,family,case,device,precision";
  for (const std::string& key : keys) text += "," + csv_field(key);
  text += ",repetitions,wall_time_q1,wall_time_q3";
  for (const std::string& name : counters) text += "," + csv_field(name);
  text += "\n";
  for (const CaseResult& result : report.results) {
    const CaseId& id = result.id;
    text += csv_field(id.full_name()) + "," + std::string(name_of(result.outcome())) + "," +
            csv_field(result.outcome_reason()) + (result.simulated ? ",true," : ",false,") +
            csv_field(id.family) + "," + csv_field(id.name) + "," + csv_field(id.device) + "," +
            csv_field(id.precision);
    for (const std::string& key : keys) text += "," + csv_field(id.text(key, ""));
    text += "," + std::to_string(result.samples.size());
    const std::vector<double> times = result.values("wall_time");
    if (times.empty() || result.simulated) {
      text += ",,";
    } else {
      const Summary summary = summarize(times);
      text += "," + number(summary.first_quartile) + "," + number(summary.third_quartile);
    }
    for (const std::string& name : counters) {
      const std::vector<double> values = result.values(name);
      const bool shown = !values.empty() && !(result.simulated && is_timed(name));
      text += "," + (shown ? number(median(values)) : "");
    }
    text += "\n";
  }
  return text;
}

}  // namespace trainbench
