#include "common/report/page/page.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "common/config/json_file.h"
#include "common/report/case_values.h"
#include "common/report/json.h"
#include "common/report/lint.h"
#include "common/report/numbers.h"
#include "common/report/speedup.h"
#include "common/report/statistics.h"

namespace trainbench {
namespace {

std::string plain(double value) { return significant(value, 3); }
std::string rate(double value) { return si(value, ""); }
std::string giga(double value) { return significant(value / 1e9, 3); }
std::string scientific(double value) {
  std::array<char, 16> text{};
  std::snprintf(text.data(), text.size(), "%.1e", value);
  return text.data();
}
std::string nanoseconds(double value) { return significant(value * 1e9, 3) + " ns"; }

/// A counter as a column, shown where any row of the table has it.
struct Shown {
  const char* counter;
  const char* title;
  std::string (*text)(double);
  bool timed;  ///< what a simulated device's clock says is left out
};
constexpr Shown kShown[] = {
    {"wall_time", "time", seconds_text, true},
    {"p99_time", "99th percentile", seconds_text, true},
    {"samples_per_second", "samples/s", rate, true},
    {"tokens_per_second", "tokens/s", rate, true},
    {"flops_per_second", "GFLOP/s", giga, true},
    {"fraction_of_peak_flops", "of peak", percent_text, true},
    {"bytes_per_second", "GB/s", giga, true},
    {"fraction_of_peak_bandwidth", "of peak bandwidth", percent_text, true},
    {"transferred_per_second", "GB/s sent", giga, true},
    {"seconds_per_load", "a load", nanoseconds, true},
    {"seconds_per_operation", "an operation", nanoseconds, true},
    {"seconds_per_launch", "a launch", nanoseconds, true},
    {"concurrency_needed", "at once for the peak", rate, true},
    {"loss_first", "first loss", plain, false},
    {"loss_last", "last loss", plain, false},
    {"max_relative_error", "largest error", scientific, false},
};

/// A row of a table before it is known which columns there are.
struct Row {
  std::string run;
  const Report* report;
  const CaseResult* result;
};

std::string text_at(const Json& object, const char* pointer) {
  const Json::json_pointer place(pointer);
  if (!object.is_object() || !object.contains(place)) return "";
  const Json& value = object.at(place);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// Rows that stand in one table: a workload's, or all of a family that trains nothing.
std::string table_name(const CaseId& id) {
  return id.family == "train" ? group_name(id) : id.family;
}

/// The keys that tell rows of a family apart beside those with columns of their own.
std::vector<std::string> keys_of(const std::vector<Row>& rows) {
  std::vector<std::string> keys;
  for (const Row& row : rows) {
    for (const auto& [key, value] : row.result->id.keys) {
      const bool own = key == "batch" || key == "threads";
      if (!own && std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
    }
  }
  return keys;
}

PageTable table_of(const std::string& group, const std::vector<Row>& rows, bool several) {
  PageTable table{.title = group, .columns = {}, .rows = {}};
  if (several) table.columns.emplace_back("run");
  const bool family = group == rows.front().result->id.family;
  const std::vector<std::string> keys = family ? keys_of(rows) : std::vector<std::string>{};
  if (family) table.columns.emplace_back("case");
  for (const std::string& key : keys) table.columns.push_back(key);
  for (const char* title : {"device", "precision", "batch", "cores"}) {
    table.columns.emplace_back(title);
  }
  std::vector<const Shown*> columns;
  for (const Shown& shown : kShown) {
    const bool any = std::any_of(rows.begin(), rows.end(), [&](const Row& row) {
      return !row.result->values(shown.counter).empty() && !(shown.timed && row.result->simulated);
    });
    if (!any) continue;
    columns.push_back(&shown);
    table.columns.emplace_back(shown.title);
    if (columns.size() == 1) table.columns.emplace_back("95 % interval");
  }
  table.columns.emplace_back("memory");

  for (const Row& row : rows) {
    const CaseResult& result = *row.result;
    std::vector<PageCell> cells;
    if (several) cells.push_back({row.run, {}});
    if (family) cells.push_back({result.id.name, {}});
    for (const std::string& key : keys) {
      const std::string value = result.id.text(key, "-");
      const bool number = value.find_first_not_of("0123456789") == std::string::npos;
      cells.push_back(
          {value, number ? std::optional(std::strtod(value.c_str(), nullptr)) : std::nullopt});
    }
    cells.push_back({result.id.device + (result.simulated ? " (simulated)" : ""), {}});
    cells.push_back({result.id.precision, {}});
    const auto number = [&](std::int64_t value) {
      cells.push_back(value == 0 ? PageCell{"-", 0}
                                 : PageCell{std::to_string(value), static_cast<double>(value)});
    };
    number(result.id.integer("batch", 0));
    number(result.id.device == "cpu" ? cores_used(*row.report, result.id) : 0);
    for (const Shown* shown : columns) {
      const std::vector<double> values = result.values(shown->counter);
      const bool absent = values.empty() || (shown->timed && result.simulated);
      const double middle = absent ? 0 : median(values);
      cells.push_back(absent ? PageCell{"-", 0} : PageCell{shown->text(middle), middle});
      if (shown != columns.front()) continue;
      if (absent) {
        cells.push_back({"-", 0});
        continue;
      }
      const Interval interval = median_interval(values);
      cells.push_back({shown->text(interval.low) + " to " + shown->text(interval.high),
                       interval.high - interval.low});
    }
    const double memory = memory_bytes_of(result);
    cells.push_back({memory == 0 ? "-" : bytes_text(memory), memory});
    table.rows.push_back(std::move(cells));
  }
  return table;
}

/// What tells a machine and a build from others.
PageSection machines(const std::vector<RunFile>& runs) {
  PageSection section{.title = "What was measured"};
  PageTable table{.title = "",
                  .columns = {"run", "measured", "processor", "cores", "memory", "devices",
                              "trainbench", "suite"},
                  .rows = {}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const Json& context = runs[i].report.context;
    std::string devices;
    for (const Json& device : devices_of(runs[i].report)) {
      if (!devices.empty()) devices += "; ";
      devices += text_at(device, "/kind") + ": " + text_at(device, "/name");
      if (device.value("simulated", false)) devices += " (simulated: its times are no speed)";
    }
    const bool hidden = text_at(context, "/machine/cpu/virtual_machine") == "true";
    const std::string cores = text_at(context, "/machine/cpu/usable_cores");
    const std::string bytes = text_at(context, "/machine/memory_bytes");
    table.rows.push_back(
        {{run_name(i), {}},
         {utc_date(runs[i].time), {}},
         {text_at(context, "/machine/cpu/model") + " " + text_at(context, "/machine/cpu/simd"), {}},
         {cores + (hidden ? " (virtual: their share of the socket is unknown)"
                          : " of " + text_at(context, "/machine/cpu/cores")),
          {}},
         {bytes.empty() ? "" : bytes_text(std::strtod(bytes.c_str(), nullptr)), {}},
         {devices, {}},
         {text_at(context, "/build/version") + " " + text_at(context, "/build/commit") + " " +
              text_at(context, "/build/build_type"),
          {}},
         {text_at(context, "/suite"), {}}});
  }
  section.tables.push_back(std::move(table));
  for (const RunFile& run : runs) {
    if (run.report.partial) {
      section.paragraphs.push_back(run.path + " was interrupted: not all repetitions were taken.");
    }
    if (run.report.context.is_object() && run.report.context.contains("test_fault")) {
      section.paragraphs.push_back(run.path + " is not real: a fault was planted in its results.");
    }
  }
  return section;
}

PageSection method(const std::vector<RunFile>& runs) {
  PageSection section{.title = "How"};
  const Json& context = runs.front().report.context;
  const auto sentence = [&](const std::string& what, const char* pointer) {
    const std::string text = text_at(context, pointer);
    if (!text.empty()) section.paragraphs.push_back(what + ": " + text + ".");
  };
  section.paragraphs.emplace_back(
      "Every row was checked before it was timed, in the same process and at the timed shape. "
      "Times are wall time, medians over the repetitions, with the interval that holds the median "
      "at 95 %, or the extremes where the repetitions are too few to promise as much.");
  sentence("Reference", "/parity/reference");
  sentence("A device-resident step", "/clock/resident");
  sentence("An end-to-end step", "/clock/end-to-end");
  sentence("Operations counted", "/flop_model");
  sentence("Peaks", "/peak_source");
  sentence("Repetitions", "/settings/repetitions");
  sentence("Sampling", "/sampling/discarded");
  return section;
}

std::string side(const CaseResult& row) {
  return row.id.full_name() + ", " + seconds_text(median(row.values("wall_time")));
}

/// What the GPU gains; where none was measured that is said, and why.
PageSection headline(const std::vector<RunFile>& runs, const std::vector<std::string>& groups) {
  PageSection section{.title = "GPU over CPU"};
  PageTable table{.title = "",
                  .columns = {"run", "workload", "pair", "speed-up", "95 % interval",
                              "ratio of measured peaks", "CPU", "CPU cores", "GPU"},
                  .rows = {}};
  std::vector<double> best;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const std::string& group : groups) {
      for (const Speedup& pair : speedups(runs[i].report, group)) {
        const auto cores = cores_used(runs[i].report, pair.cpu->id);
        table.rows.push_back(
            {{run_name(i), {}},
             {group, {}},
             {pair.label, {}},
             {ratio_text(pair.ratio), pair.ratio},
             {ratio_text(pair.interval.low) + " to " + ratio_text(pair.interval.high),
              pair.interval.high - pair.interval.low},
             {pair.peak_ratio > 0 ? ratio_text(pair.peak_ratio) : "unknown", pair.peak_ratio},
             {side(*pair.cpu), {}},
             {std::to_string(cores), static_cast<double>(cores)},
             {side(*pair.gpu), {}}});
      }
    }
  }
  if (table.rows.empty()) {
    section.paragraphs.emplace_back(
        "No GPU was measured together with a CPU in these files, so nothing is said of what one "
        "gains. Rows of a simulated GPU are no speed and take no part.");
  } else {
    section.paragraphs.emplace_back(
        "Ratios of wall time a sample. Beside each stands the ratio of what the two devices reach "
        "in a register-only loop: a speed-up is that ratio times how much better the GPU is used.");
    section.tables.push_back(std::move(table));
  }
  return section;
}

PageSection unmeasured(const std::vector<RunFile>& runs) {
  PageSection section{.title = "Not measured"};
  PageTable table{.title = "", .columns = {"run", "case", "status", "reason"}, .rows = {}};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const CaseResult& result : runs[i].report.results) {
      if (result.outcome() == Status::ok) continue;
      table.rows.push_back({{run_name(i), {}},
                            {result.id.full_name(), {}},
                            {std::string(name_of(result.outcome())), {}},
                            {result.outcome_reason(), {}}});
    }
  }
  if (!table.rows.empty()) section.tables.push_back(std::move(table));
  return section;
}

/// What of all this would fool a reader.
PageSection cautions(const std::vector<RunFile>& runs) {
  PageSection section{.title = "What to mind"};
  std::vector<const Report*> reports;
  for (const RunFile& run : runs) reports.push_back(&run.report);
  PageTable table{.title = "", .columns = {"run", "what", "where", "detail"}, .rows = {}};
  for (const Finding& finding : lint(reports)) {
    std::string names;
    for (const std::size_t i : finding.reports) names += (names.empty() ? "" : " ") + run_name(i);
    table.rows.push_back({{names, {}},
                          {std::string(finding.rule.sentence), {}},
                          {finding.where, {}},
                          {finding.detail, {}}});
  }
  if (table.rows.empty()) {
    section.paragraphs.emplace_back(
        "Nothing was found that would fool a reader (trainbench lint).");
  } else {
    section.tables.push_back(std::move(table));
  }
  return section;
}

/// A word as a shell reads it back.
std::string shell_word(const std::string& word) {
  constexpr const char* kBare =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:=,%+@";
  if (!word.empty() && word.find_first_not_of(kBare) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

PageSection repeating(const std::vector<RunFile>& runs) {
  PageSection section{.title = "To repeat it"};
  for (const RunFile& run : runs) {
    const Json::json_pointer place("/settings/command");
    if (!run.report.context.is_object() || !run.report.context.contains(place)) continue;
    std::string command;
    for (const Json& word : run.report.context.at(place)) {
      if (!word.is_string()) continue;
      command += (command.empty() ? "" : " ") + shell_word(word.get<std::string>());
    }
    section.commands.push_back(command);
  }
  return section;
}

}  // namespace

std::string run_name(std::size_t index) {
  return index < 26 ? std::string(1, static_cast<char>('A' + index)) : std::to_string(index + 1);
}

Page page_of(const std::vector<RunFile>& runs) {
  Page page{.title = "How fast neural networks train here", .sections = {}, .data = {}};
  std::vector<std::string> groups, tables;
  const auto note = [](std::vector<std::string>& names, const std::string& name) {
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  std::map<std::string, std::vector<Row>> rows;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    for (const CaseResult& result : runs[i].report.results) {
      note(groups, group_name(result.id));
      if (result.outcome() != Status::ok) continue;
      note(tables, table_name(result.id));
      rows[table_name(result.id)].push_back({run_name(i), &runs[i].report, &result});
    }
    page.data.push_back({runs[i].path, to_json(runs[i].report)});
  }
  page.sections = {machines(runs), method(runs), headline(runs, groups)};
  PageSection pictures{.title = "Pictures"};
  pictures.figures = figures_of(runs);
  page.sections.push_back(std::move(pictures));
  PageSection measured{.title = "Every row"};
  for (const std::string& name : tables) {
    measured.tables.push_back(table_of(name, rows[name], runs.size() > 1));
  }
  page.sections.push_back(std::move(measured));
  page.sections.push_back(cautions(runs));
  page.sections.push_back(unmeasured(runs));
  page.sections.push_back(repeating(runs));
  std::erase_if(page.sections, [](const PageSection& section) {
    return section.paragraphs.empty() && section.figures.empty() && section.tables.empty() &&
           section.commands.empty();
  });
  return page;
}

}  // namespace trainbench
