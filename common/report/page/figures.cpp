#include <algorithm>
#include <set>

#include "common/memory.h"
#include "common/report/case_values.h"
#include "common/report/numbers.h"
#include "common/report/page/page.h"
#include "common/report/speedup.h"
#include "common/report/statistics.h"

namespace trainbench {
namespace {

/// A row that is a measurement of speed, as figures label it.
struct Point {
  std::string label;
  const RunFile* run;
  const CaseResult* result;
};

std::vector<Point> points_of(const std::vector<RunFile>& runs) {
  std::vector<Point> points;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const CaseResult& result : runs[i].report.results) {
      if (result.outcome() != Status::ok || !has_speed(result)) continue;
      const std::string prefix = runs.size() > 1 ? run_name(i) + " " : "";
      points.push_back({prefix + result.id.full_name(), &runs[i], &result});
    }
  }
  return points;
}

/// One horizontal bar a row, the first on top.
Json bar_layout(const std::string& title, std::size_t bars) {
  constexpr std::size_t kBar = 22;
  constexpr std::size_t kFrame = 110;
  return {{"height", kFrame + kBar * bars},
          {"xaxis", {{"title", {{"text", title}}}, {"rangemode", "tozero"}, {"automargin", true}}},
          {"yaxis", {{"autorange", "reversed"}, {"automargin", true}, {"type", "category"}}}};
}

/// Bars of a median with the interval that holds it.
struct Bars {
  Json labels = Json::array(), values = Json::array(), above = Json::array(), below = Json::array();

  void add(const std::string& label, double value, const Interval& interval) {
    labels.push_back(label);
    values.push_back(value);
    above.push_back(interval.high - value);
    below.push_back(value - interval.low);
  }
  Json trace() const {
    return {{"type", "bar"},
            {"orientation", "h"},
            {"y", labels},
            {"x", values},
            {"error_x",
             {{"type", "data"}, {"symmetric", false}, {"array", above}, {"arrayminus", below}}}};
  }
};

void add_speedups(const std::vector<RunFile>& runs, std::vector<PageFigure>& figures) {
  PageFigure figure{.title = "What the GPU gains",
                    .description = "Bars: how many times less wall time a sample takes on the GPU.",
                    .traces = {},
                    .layout = {},
                    .table = {"", {"pair", "speed-up", "low", "high"}, {}}};
  Bars bars;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::set<std::string> groups;
    for (const CaseResult& result : runs[i].report.results) groups.insert(group_name(result.id));
    for (const std::string& group : groups) {
      for (const Speedup& pair : speedups(runs[i].report, group)) {
        const std::string label =
            (runs.size() > 1 ? run_name(i) + " " : "") + group + ", " + pair.label;
        bars.add(label, pair.ratio, pair.interval);
        figure.table.rows.push_back({{label, {}},
                                     {ratio_text(pair.ratio), pair.ratio},
                                     {ratio_text(pair.interval.low), pair.interval.low},
                                     {ratio_text(pair.interval.high), pair.interval.high}});
      }
    }
  }
  if (figure.table.rows.empty()) return;
  figure.traces = Json::array({bars.trace()});
  figure.layout = bar_layout("times as fast", figure.table.rows.size());
  figures.push_back(std::move(figure));
}

void add_peaks(const std::vector<Point>& points, std::vector<PageFigure>& figures) {
  PageFigure figure{
      .title = "How near the arithmetic comes to the measured peak",
      .description =
          "Bars: the part of a register-only loop's FLOP/s that each row reaches, with "
          "the interval of the median.",
      .traces = {},
      .layout = {},
      .table = {"", {"case", "of peak", "low", "high"}, {}}};
  Bars bars;
  for (const Point& point : points) {
    const std::vector<double> shares = point.result->values("fraction_of_peak_flops");
    if (shares.empty()) continue;
    const double share = median(shares);
    const Interval interval = median_interval(shares);
    bars.add(point.label, share, interval);
    figure.table.rows.push_back({{point.label, {}},
                                 {percent_text(share), share},
                                 {percent_text(interval.low), interval.low},
                                 {percent_text(interval.high), interval.high}});
  }
  if (figure.table.rows.empty()) return;
  figure.traces = Json::array({bars.trace()});
  figure.layout = bar_layout("part of the measured peak", figure.table.rows.size());
  figure.layout["xaxis"]["tickformat"] = ".0%";
  figures.push_back(std::move(figure));
}

/// The roofs of one device (Williams, Waterman and Patterson, CACM 52(4), 2009).
void add_roofs(const Json& device, const std::string& prefix, double least, double most,
               Json& traces) {
  if (!device.contains("peaks") || device.value("simulated", false)) return;
  const double bandwidth = device["peaks"].value("bandwidth", 0.0);
  const Json flops = device["peaks"].value("flops", Json::object());
  for (const auto& [precision, peak_value] : flops.items()) {
    if (!peak_value.is_number() || bandwidth <= 0) continue;
    const double peak = peak_value.get<double>();
    const double ridge = peak / bandwidth;
    traces.push_back({{"type", "scatter"},
                      {"mode", "lines"},
                      {"name", prefix + device.value("kind", "?") + " " + precision + " roof"},
                      {"x", {least, ridge, std::max(most, 2 * ridge)}},
                      {"y", {least * bandwidth, peak, peak}},
                      {"line", {{"dash", "dot"}}}});
  }
}

void add_roofline(const std::vector<RunFile>& runs, const std::vector<Point>& points,
                  std::vector<PageFigure>& figures) {
  PageFigure figure{
      .title = "Roofline",
      .description =
          "Points: each row's FLOP/s over the operations it does for a byte it must "
          "move; lines: what the measured peaks allow.",
      .traces = Json::array(),
      .layout = {{"height", 520},
                 {"xaxis", {{"type", "log"}, {"title", {{"text", "FLOP a byte"}}}}},
                 {"yaxis",
                  {{"type", "log"}, {"tickformat", "~s"}, {"title", {{"text", "FLOP/s"}}}}}},
      .table = {"", {"case", "FLOP a byte", "GFLOP/s"}, {}}};
  std::map<std::string, Json> traces;
  double least = 1, most = 1;
  for (const Point& point : points) {
    const std::vector<double> flops = point.result->values("flops_per_iteration");
    const std::vector<double> bytes = point.result->values("bytes_per_iteration");
    const std::vector<double> rates = point.result->values("flops_per_second");
    if (flops.empty() || bytes.empty() || rates.empty() || bytes.front() <= 0) continue;
    const double intensity = flops.front() / bytes.front();
    const double rate = median(rates);
    if (intensity <= 0 || rate <= 0) continue;
    least = std::min(least, intensity);
    most = std::max(most, intensity);
    const std::string name = point.result->id.device + " " + point.result->id.precision;
    Json& trace = traces[name];
    if (trace.is_null()) {
      trace = {{"type", "scatter"},  {"mode", "markers"},  {"name", name},
               {"x", Json::array()}, {"y", Json::array()}, {"text", Json::array()}};
    }
    trace["x"].push_back(intensity);
    trace["y"].push_back(rate);
    trace["text"].push_back(point.label);
    figure.table.rows.push_back({{point.label, {}},
                                 {significant(intensity, 3), intensity},
                                 {significant(rate / 1e9, 3), rate}});
  }
  if (figure.table.rows.empty()) return;
  for (auto& [name, trace] : traces) figure.traces.push_back(std::move(trace));
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string prefix = runs.size() > 1 ? run_name(i) + " " : "";
    for (const Json& device : devices_of(runs[i].report)) {
      add_roofs(device, prefix, least / 2, 2 * most, figure.traces);
    }
  }
  figures.push_back(std::move(figure));
}

void add_memory(const std::vector<Point>& points, std::vector<PageFigure>& figures) {
  PageFigure figure{.title = "Memory by kind",
                    .description = "Stacked bars: what each row holds on its device.",
                    .traces = Json::array(),
                    .layout = {},
                    .table = {"", {"case"}, {}}};
  for (const Point& point : points) {
    if (memory_bytes_of(*point.result) > 0) figure.table.rows.push_back({{point.label, {}}});
  }
  if (figure.table.rows.empty()) return;
  for (const MemoryKind kind : kMemoryKinds) {
    Json labels = Json::array(), values = Json::array();
    std::size_t row = 0;
    for (const Point& point : points) {
      if (memory_bytes_of(*point.result) <= 0) continue;
      const auto bytes = point.result->values("memory_bytes_" + std::string(name_of(kind)));
      const double value = bytes.empty() ? 0 : median(bytes);
      labels.push_back(point.label);
      values.push_back(value / 0x1p20);
      figure.table.rows[row++].push_back({bytes_text(value), value});
    }
    figure.table.columns.emplace_back(name_of(kind));
    figure.traces.push_back({{"type", "bar"},
                             {"orientation", "h"},
                             {"name", std::string(name_of(kind))},
                             {"y", labels},
                             {"x", values}});
  }
  figure.layout = bar_layout("MiB", figure.table.rows.size());
  figure.layout["barmode"] = "stack";
  figures.push_back(std::move(figure));
}

}  // namespace

std::vector<PageFigure> figures_of(const std::vector<RunFile>& runs) {
  const std::vector<Point> points = points_of(runs);
  std::vector<PageFigure> figures;
  add_speedups(runs, figures);
  add_peaks(points, figures);
  add_roofline(runs, points, figures);
  add_memory(points, figures);
  return figures;
}

}  // namespace trainbench
