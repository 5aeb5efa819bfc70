#include "bench/commands/judge.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>

#include "bench/harness/number_flags.h"
#include "common/config/name_filter.h"
#include "common/config/spelling.h"
#include "common/config/typed_reader.h"
#include "common/core/error.h"
#include "common/report/comparability.h"
#include "common/report/compare_output.h"
#include "common/report/google_reader.h"

namespace trainbench {
namespace {

constexpr int kGood = 0;
constexpr int kRegressed = 1;
constexpr int kUndecided = 3;
constexpr double kMostGrowth = 1000;

struct Format {
  const char* name;
  std::string (*write)(const Comparison&, const CompareHeading&);
};
constexpr std::array kFormats{Format{"table", compare_to_table},
                              Format{"markdown", compare_to_markdown},
                              Format{"json", compare_to_json}, Format{"junit", compare_to_junit},
                              Format{"github", compare_to_github}};

struct Failure {
  const char* name;
  Verdict verdict;
  int exit_code;
};
/// What outweighs the others comes first.
constexpr std::array kFailures{Failure{"slower", Verdict::slower, kRegressed},
                               Failure{"failed", Verdict::failed, kRegressed},
                               Failure{"missing", Verdict::missing, kRegressed},
                               Failure{"ambiguous", Verdict::ambiguous, kUndecided}};

template <class Table>
std::vector<std::string> names_of(const Table& table) {
  std::vector<std::string> names;
  for (const auto& each : table) names.emplace_back(each.name);
  return names;
}

/// A file of thresholds: an object of max_slowdown by case name.
std::map<std::string, double> read_thresholds(const std::string& path) {
  std::map<std::string, double> thresholds;
  if (path.empty()) return thresholds;
  const Json document = read_json_file(path);
  for (const auto& [name, value] : JsonNode(document, path).members()) {
    thresholds[name] = value.number(0, kMostGrowth);
  }
  return thresholds;
}

bool in_repetitions(const std::vector<Report>& reports, const std::string& counter) {
  for (const Report& report : reports) {
    for (const CaseResult& result : report.results) {
      for (const Sample& sample : result.samples) {
        if (sample.counters.contains(counter)) return true;
      }
    }
  }
  return false;
}

bool in_cases(const std::vector<Report>& reports, const std::string& counter) {
  return std::any_of(reports.begin(), reports.end(), [&](const Report& report) {
    return std::any_of(report.results.begin(), report.results.end(),
                       [&](const CaseResult& result) { return result.counters.contains(counter); });
  });
}

/// The counters that the short names stand for. One that no case of the base has would be judged by
/// nothing.
std::vector<std::string> exact_counters(const std::vector<std::string>& names,
                                        const std::vector<Report>& base) {
  std::vector<std::string> exact;
  for (const std::string& name : names) {
    for (std::string& counter : counters_named(name)) {
      if (!in_cases(base, counter) && !in_repetitions(base, counter)) {
        throw InputError("--exact: no case of the base has a counter " + in_quotes(counter));
      }
      exact.push_back(std::move(counter));
    }
  }
  return exact;
}

/// A file that is read twice would pass for two processes, and its luck for evidence.
void require_different(const std::vector<std::string>& paths) {
  for (auto path = paths.begin(); path != paths.end(); ++path) {
    std::error_code ignored;
    const bool twice = std::any_of(paths.begin(), path, [&](const std::string& earlier) {
      return std::filesystem::equivalent(earlier, *path, ignored);
    });
    if (twice) throw InputError(*path + ": stands twice on one side");
  }
}

void require_metric(const std::vector<Report>& base, const std::string& metric) {
  // Other programs' results have Google Benchmark's real time alone, which stands for the default.
  if (metric == kWallTime || in_repetitions(base, metric)) return;
  if (in_cases(base, metric)) {
    throw InputError("--metric: " + in_quotes(metric) +
                     " is the same in all repetitions of a case; --exact judges it");
  }
  throw InputError("--metric: no case of the base has a counter " + in_quotes(metric));
}

std::vector<const Report*> all_of(const JudgedSide& base, const JudgedSide& fresh) {
  std::vector<const Report*> all;
  for (const JudgedSide* side : {&base, &fresh}) {
    for (const Report& report : side->reports) all.push_back(&report);
  }
  return all;
}

/// Decides whether times may be compared, and says on what terms. A debug build's never: no flag
/// makes them mean anything.
void settle_times(const JudgedSide& base, const JudgedSide& fresh, JudgeOptions& options,
                  std::vector<std::string>& remarks) {
  const std::vector<const Report*> all = all_of(base, fresh);
  std::string unfit;
  for (const Report* report : all) {
    if (unfit.empty()) unfit = unfit_build(*report);
  }
  if (!unfit.empty()) unfit = "a side is " + unfit + ", whose times mean nothing";
  const std::string different = differences(all);
  const std::string differ = different.empty() ? "" : "the sides differ in " + different;
  const bool counts_alone = !options.compare.times || !options.compare.exact.empty();
  if (!unfit.empty()) {
    if (!counts_alone) throw InputError(unfit + "; --counts-only compares the rest");
    options.compare.times = false;
    remarks.push_back(unfit);
  }
  if (differ.empty()) return;
  if (!options.cross_host && !counts_alone) {
    throw InputError(differ +
                     "; their times are no A/B: --cross-host compares them all the same, "
                     "--counts-only the rest");
  }
  if (!options.cross_host) options.compare.times = false;
  remarks.push_back(options.compare.times
                        ? "--cross-host: " + differ + ", so a change of time may be theirs."
                        : differ);
}

/// Whether any case was measured on both sides.
bool compared_any(const Comparison& comparison) {
  return std::any_of(comparison.cases.begin(), comparison.cases.end(),
                     [](const CaseComparison& each) {
                       return each.verdict != Verdict::missing && each.verdict != Verdict::added &&
                              each.verdict != Verdict::failed;
                     });
}

/// What else a reader must know of the comparison.
void remark(const JudgedSide& base, const JudgedSide& fresh, const JudgeOptions& options,
            const Comparison& comparison, std::vector<std::string>& remarks) {
  for (const JudgedSide* side : {&base, &fresh}) {
    const bool partial = std::any_of(side->reports.begin(), side->reports.end(),
                                     [](const Report& report) { return report.partial; });
    if (partial) remarks.push_back(side->name + ": a run was interrupted.");
    const bool planted =
        std::any_of(side->reports.begin(), side->reports.end(), [](const Report& report) {
          return report.context.is_object() && report.context.contains("test_fault");
        });
    if (planted) remarks.push_back(side->name + ": NOT REAL: a test planted a fault in it.");
  }
  std::size_t strangers = 0;
  for (const auto& [name, limit] : options.compare.per_case) {
    strangers +=
        std::none_of(comparison.cases.begin(), comparison.cases.end(),
                     [&named = name](const CaseComparison& each) { return each.name == named; });
  }
  if (strangers > 0) {
    remarks.push_back(options.per_case + ": no case has " + std::to_string(strangers) + " of its " +
                      std::to_string(options.compare.per_case.size()) + " names.");
  }
  if (!compared_any(comparison)) {
    remarks.emplace_back("No case was measured on both sides: nothing was compared.");
  }
}

int exit_code(const Comparison& comparison, const std::vector<std::string>& fail_on) {
  for (const Failure& failure : kFailures) {
    const bool asked = std::find(fail_on.begin(), fail_on.end(), failure.name) != fail_on.end();
    if (asked && comparison.any(failure.verdict)) return failure.exit_code;
  }
  return kGood;
}

}  // namespace

void add_judge_flags(CLI::App& command, JudgeOptions& options) {
  CompareOptions& compare = options.compare;
  command.add_option("--alpha", compare.alpha, "Chance of any false verdict over all cases")
      ->check(real_number(1e-9, 0.5))
      ->capture_default_str();
  command
      .add_option("--max-slowdown", compare.max_slowdown, "Slowdown that still passes: 5%, or 0.05")
      ->transform(fraction(0, kMostGrowth))
      ->capture_default_str();
  command.add_option("--per-case", options.per_case,
                     "A JSON file of slowdowns that pass, by case: {\"train/mlp/...\": 0.02}");
  command
      .add_option("--metric", compare.metric,
                  "What is compared: wall_time, gpu_time, or any counter of the repetitions")
      ->capture_default_str();
  command
      .add_option("--max-memory-growth", compare.max_memory_growth,
                  "Growth of any kind of memory that still passes")
      ->transform(fraction(0, kMostGrowth))
      ->capture_default_str();
  command
      .add_option("--max-error-growth", compare.max_error_growth,
                  "Growth of the error that still passes; 1: it may double")
      ->transform(fraction(0, kMostGrowth))
      ->capture_default_str();
  command
      .add_option("--exact", options.compare.exact,
                  "Counters that must be equal or better to the last digit, on any machine: " +
                      short_counter_names() +
                      ", or any counter's whole name as the JSON has it, such as allocations, "
                      "operations_per_iteration, parameters")
      ->delimiter(',');
  command.add_option("--filter", options.filter, "Keep the cases this regular expression finds");
  command
      .add_option("--fail-on", options.fail_on,
                  "Verdicts that fail: slower, failed, missing (exit 1), ambiguous (exit 3)")
      ->delimiter(',')
      ->check(CLI::IsMember(names_of(kFailures)))
      ->capture_default_str();
  command.add_option("--format", options.format, "table, markdown, json, junit or github")
      ->check(CLI::IsMember(names_of(kFormats)))
      ->capture_default_str();
  command.add_flag("!--counts-only", compare.times,
                   "Judge counts, memory and error alone: they hold on any machine");
  command.add_flag("--cross-host", options.cross_host,
                   "Compare times of different machines, drivers or builds all the same, naming "
                   "what differs; never those of a debug build");
}

JudgedSide read_side(std::string name, const std::vector<std::string>& paths,
                     const std::string& filter) {
  const NameFilter wanted(filter);
  JudgedSide side{std::move(name), {}};
  require_different(paths);
  for (const std::string& path : paths) {
    Report report = read_any_result_file(path);
    std::erase_if(report.results,
                  [&](const CaseResult& result) { return !wanted.finds(result.id.full_name()); });
    side.reports.push_back(std::move(report));
  }
  return side;
}

std::vector<std::string> settle(const JudgedSide& base, const JudgedSide& fresh,
                                JudgeOptions& options) {
  CompareOptions& compare_options = options.compare;
  compare_options.per_case = read_thresholds(options.per_case);
  compare_options.exact = exact_counters(compare_options.exact, base.reports);
  require_metric(base.reports, compare_options.metric);
  std::vector<std::string> remarks;
  settle_times(base, fresh, options, remarks);
  return remarks;
}

int judge(const JudgedSide& base, const JudgedSide& fresh, JudgeOptions options) {
  std::vector<std::string> remarks = settle(base, fresh, options);
  const Comparison comparison = compare(base.reports, fresh.reports, options.compare);
  if (comparison.cases.empty()) throw InputError("no case is left on either side");
  remark(base, fresh, options, comparison, remarks);
  const CompareHeading heading{base.name, fresh.name, options.compare, std::move(remarks)};
  for (const Format& format : kFormats) {
    if (options.format == format.name) {
      std::fputs(format.write(comparison, heading).c_str(), stdout);
    }
  }
  const int code = exit_code(comparison, options.fail_on);
  // A gate that judged nothing has not passed.
  if (code == kGood && !compared_any(comparison)) {
    throw InputError("no case was measured on both sides, " + base.name + " and " + fresh.name +
                     ": nothing was compared");
  }
  return code;
}

}  // namespace trainbench
