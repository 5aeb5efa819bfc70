#include "common/report/history.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "common/config/json_file.h"
#include "common/report/case_values.h"
#include "common/report/comparability.h"
#include "common/report/counters.h"
#include "common/report/csv_field.h"
#include "common/report/numbers.h"
#include "common/report/statistics.h"
#include "common/report/text_table.h"

namespace trainbench {
namespace {

/// The last points that a line of eighths of a block shows.
constexpr std::size_t kSparkPoints = 30;

std::string sparkline(const std::vector<Trend::Point>& points) {
  constexpr std::array blocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  const std::size_t shown = std::min(points.size(), kSparkPoints);
  const auto begin = points.end() - static_cast<std::ptrdiff_t>(shown);
  const auto [low, high] = std::minmax_element(
      begin, points.end(),
      [](const Trend::Point& a, const Trend::Point& b) { return a.value < b.value; });
  const double range = high->value - low->value;
  std::string text;
  for (auto point = begin; point != points.end(); ++point) {
    const double part = range > 0 ? (point->value - low->value) / range : 0;
    text += blocks[static_cast<std::size_t>(part * (blocks.size() - 1) + 0.5)];
  }
  return text;
}

std::string shown(double value, const std::string& metric) {
  return is_timed(metric) && !higher_is_better(metric) ? seconds_text(value)
                                                       : significant(value, 4);
}

/// The last against the first: "+1.20%".
std::string change(const Trend& trend) {
  if (trend.first() == 0) return "-";
  const double part = trend.last() / trend.first() - 1;
  return (part >= 0 ? "+" : "-") + percent_text(std::abs(part));
}

bool several_machines(const std::vector<Trend>& trends) {
  return std::any_of(trends.begin(), trends.end(),
                     [&](const Trend& each) { return each.machine != trends.front().machine; });
}

/// A trend's cells: files, first, last, best, change, case, trend.
std::vector<std::string> cells(const Trend& trend, const std::string& metric, bool with_machine) {
  return {std::to_string(trend.points.size()),
          shown(trend.first(), metric),
          shown(trend.last(), metric),
          shown(trend.best(higher_is_better(metric)), metric),
          change(trend),
          trend.name + (with_machine ? " on " + trend.machine : ""),
          sparkline(trend.points)};
}

}  // namespace

double Trend::best(bool higher) const {
  double found = first();
  for (const Point& point : points) {
    found = higher ? std::max(found, point.value) : std::min(found, point.value);
  }
  return found;
}

std::vector<Trend> trends(const std::vector<RunFile>& runs, const std::string& metric) {
  std::vector<Trend> found;
  std::map<std::pair<std::string, std::string>, std::size_t> index;
  for (const RunFile& run : runs) {
    const std::string machine = machine_of(run.report);
    for (const CaseResult& result : run.report.results) {
      if (result.outcome() != Status::ok || (result.simulated && is_timed(metric))) continue;
      const std::vector<double> values = metric_values(result, metric);
      if (values.empty()) continue;
      const std::string name = result.id.full_name();
      const auto [place, fresh] = index.try_emplace({machine, name}, found.size());
      if (fresh) found.push_back({machine, name, {}});
      found[place->second].points.push_back({&run, median(values)});
    }
  }
  return found;
}

std::string history_to_table(const std::vector<Trend>& trends, const std::string& metric) {
  using Align = TextTable::Align;
  TextTable table({{"files"},
                   {"first"},
                   {"last"},
                   {"best"},
                   {"change"},
                   {"case", Align::left},
                   {"trend", Align::left}});
  const bool with_machine = several_machines(trends);
  for (const Trend& trend : trends) table.add(cells(trend, metric, with_machine));
  return table.text();
}

std::string history_to_markdown(const std::vector<Trend>& trends, const std::string& metric) {
  std::string text =
      "| files | first | last | best | change | case | trend |\n|--:|--:|--:|--:|--:|---|---|\n";
  const bool with_machine = several_machines(trends);
  for (const Trend& trend : trends) {
    text += "|";
    for (std::string cell : cells(trend, metric, with_machine)) {
      std::replace(cell.begin(), cell.end(), '|', '/');
      text += " " + cell + " |";
    }
    text += "\n";
  }
  return text;
}

std::string history_to_csv(const std::vector<Trend>& trends, const std::string& metric) {
  std::string text = "machine,case,metric,time,commit,value\n";
  for (const Trend& trend : trends) {
    for (const Trend::Point& point : trend.points) {
      text += csv_field(trend.machine) + "," + csv_field(trend.name) + "," + csv_field(metric) +
              "," + utc_date(point.run->time) + "," + csv_field(point.run->commit) + "," +
              Json(point.value).dump() + "\n";
    }
  }
  return text;
}

std::string history_to_json(const std::vector<Trend>& trends, const std::string& metric) {
  Json list = Json::array();
  for (const Trend& trend : trends) {
    Json points = Json::array();
    for (const Trend::Point& point : trend.points) {
      points.push_back({{"time", utc_date(point.run->time)},
                        {"commit", point.run->commit},
                        {"file", point.run->path},
                        {"value", point.value}});
    }
    list.push_back({{"machine", trend.machine},
                    {"case", trend.name},
                    {"first", trend.first()},
                    {"last", trend.last()},
                    {"best", trend.best(higher_is_better(metric))},
                    {"points", std::move(points)}});
  }
  const Json document{{"metric", metric}, {"trends", std::move(list)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace trainbench
