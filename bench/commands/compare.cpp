#include "bench/commands/compare.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <regex>
#include <sstream>

#include "bench/harness/number_flags.h"
#include "common/config/suite.h"
#include "common/config/typed_reader.h"
#include "common/core/error.h"
#include "common/report/compare.h"
#include "common/report/compare_output.h"
#include "common/report/google_reader.h"

namespace trainbench {
namespace {

constexpr int kGood = 0;
constexpr int kRegressed = 1;
constexpr int kUndecided = 3;
constexpr double kLargestSlowdown = 10;

struct CompareCommand {
  std::string base;  // one or several files, separated by commas
  std::string fresh;
  CompareOptions options;
  std::string filter;
  std::string per_case;  // a file of thresholds
  std::string format = "table";
  std::vector<std::string> fail_on{"slower", "failed"};
  bool cross_host = false;
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  if (parts.empty()) throw InputError("each side needs the name of a result file, not \"\"");
  return parts;
}

std::vector<Report> read_side(const std::string& paths, const std::string& filter) {
  const std::regex pattern = filter_expression(filter);
  std::vector<Report> reports;
  for (const std::string& path : split(paths)) {
    Report report = read_any_result_file(path);
    std::erase_if(report.results, [&](const CaseResult& result) {
      return !std::regex_search(result.id.full_name(), pattern);
    });
    reports.push_back(std::move(report));
  }
  return reports;
}

/// A value of a report's context by path, as text; empty where it is not there.
std::string context_value(const Report& report, const std::string& path) {
  const nlohmann::ordered_json::json_pointer pointer(path);
  if (!report.context.is_object() || !report.context.contains(pointer)) return "";
  const auto& value = report.context.at(pointer);
  return value.is_string() ? value.get<std::string>() : value.dump();
}

/// What must be equal for times to be comparable, and how it is named where it is not.
struct Condition {
  const char* path;
  const char* name;
};
constexpr Condition kConditions[] = {
    {"/machine/host_id", "machine (host_id)"},
    {"/build/build_type", "build type"},
    {"/build/compiler", "compiler"},
    {"/build/flags", "compiler flags"},
    {"/build/arch", "target architecture"},
    {"/build/sanitizers", "sanitizers"},
    {"/machine/cpu/usable_cores", "CPU cores"},
    {"/settings/cpu_provider", "--cpu-provider"},
};

/// Why times of these reports must not be compared; empty where they may.
std::string incomparable(const std::vector<Report>& base, const std::vector<Report>& fresh) {
  std::vector<const Report*> all;
  for (const Report& report : base) all.push_back(&report);
  for (const Report& report : fresh) all.push_back(&report);
  for (const Condition& condition : kConditions) {
    const std::string first = context_value(*all.front(), condition.path);
    for (const Report* report : all) {
      const std::string value = context_value(*report, condition.path);
      if (value != first) {
        return std::string("the sides differ in ") + condition.name + ": \"" + first + "\" and \"" +
               value + "\"";
      }
    }
  }
  const std::string build_type = context_value(*all.front(), "/build/build_type");
  if (build_type == "Debug") return "both sides are debug builds";
  return "";
}

/// A file of thresholds: an object of max_slowdown by case name.
std::map<std::string, double> read_thresholds(const std::string& path) {
  std::map<std::string, double> thresholds;
  if (path.empty()) return thresholds;
  const Json document = read_json_file(path);
  for (const auto& [name, value] : JsonNode(document, path).members()) {
    thresholds[name] = value.number(0, kLargestSlowdown);
  }
  return thresholds;
}

/// Counters by the short names of the command line: "flops" is "flops_per_iteration".
std::vector<std::string> counter_names(const std::vector<std::string>& names) {
  std::vector<std::string> full;
  for (const std::string& name : names) {
    const bool per_iteration = name == "flops" || name == "bytes" || name == "launches" ||
                               name == "allocations" || name == "synchronizations";
    full.push_back(per_iteration ? name + "_per_iteration" : name);
  }
  return full;
}

bool has_counter(const std::vector<Report>& reports, const std::string& counter) {
  for (const Report& report : reports) {
    for (const CaseResult& result : report.results) {
      if (result.counters.contains(counter)) return true;
      for (const Sample& sample : result.samples) {
        if (sample.counters.contains(counter)) return true;
      }
    }
  }
  return false;
}

/// A counter that no case of the base has would be judged by nothing.
void require_counters(const std::vector<Report>& base, const CompareOptions& options) {
  std::vector<std::pair<std::string, const char*>> wanted;
  for (const std::string& counter : options.exact) wanted.emplace_back(counter, "--exact");
  // Other programs' results have Google Benchmark's real time alone, which the default falls back
  // to.
  if (options.metric != CompareOptions{}.metric) wanted.emplace_back(options.metric, "--metric");
  for (const auto& [counter, flag] : wanted) {
    if (!has_counter(base, counter)) {
      throw InputError(std::string(flag) + ": no case of the base has a counter \"" + counter +
                       "\"");
    }
  }
}

std::string shown(const Comparison& comparison, const CompareCommand& command) {
  const CompareHeading heading{command.base, command.fresh, command.options};
  if (command.format == "markdown") return compare_to_markdown(comparison, heading);
  if (command.format == "json") return compare_to_json(comparison, heading);
  if (command.format == "junit") return compare_to_junit(comparison, heading);
  if (command.format == "github") return compare_to_github(comparison, heading);
  return compare_to_table(comparison, heading);
}

int exit_code(const Comparison& comparison, const std::vector<std::string>& fail_on) {
  const auto asked = [&](const char* name) {
    return std::find(fail_on.begin(), fail_on.end(), name) != fail_on.end();
  };
  if ((asked("slower") && comparison.any(Verdict::slower)) ||
      (asked("failed") && comparison.any(Verdict::failed)) ||
      (asked("missing") && comparison.any(Verdict::missing))) {
    return kRegressed;
  }
  return asked("ambiguous") && comparison.any(Verdict::ambiguous) ? kUndecided : kGood;
}

int run_compare(CompareCommand command) {
  const std::vector<Report> base = read_side(command.base, command.filter);
  const std::vector<Report> fresh = read_side(command.fresh, command.filter);
  command.options.per_case = read_thresholds(command.per_case);
  command.options.exact = counter_names(command.options.exact);
  require_counters(base, command.options);
  const std::string difference = incomparable(base, fresh);
  if (!difference.empty() && !command.cross_host) {
    if (command.options.exact.empty()) {
      throw InputError(difference +
                       "; their times are no A/B: --cross-host compares them all the same, "
                       "--exact COUNTERS alone compares counts");
    }
    command.options.times = false;
  }
  const Comparison comparison = compare(base, fresh, command.options);
  if (comparison.cases.empty()) throw InputError("no case is left on either side");
  std::fputs(shown(comparison, command).c_str(), stdout);
  return exit_code(comparison, command.fail_on);
}

}  // namespace

void register_compare(CLI::App& app, std::function<int()>& action) {
  CLI::App* command = app.add_subcommand("compare", "Judge new results against a base");
  auto wanted = std::make_shared<CompareCommand>();
  CompareOptions& options = wanted->options;
  command->add_option("base", wanted->base, "Result files of the base, separated by commas")
      ->required();
  command->add_option("new", wanted->fresh, "Result files to judge, separated by commas")
      ->required();
  command->add_option("--alpha", options.alpha, "Chance of any false verdict over all cases")
      ->check(real_number(1e-9, 0.5))
      ->capture_default_str();
  command->add_option("--max-slowdown", options.max_slowdown, "Slowdown that still passes: 0.05")
      ->check(real_number(0, kLargestSlowdown))
      ->capture_default_str();
  command->add_option("--per-case", wanted->per_case,
                      "A JSON file of slowdowns that pass, by case: {\"train/mlp/...\": 0.02}");
  command->add_option("--metric", options.metric, "The time compared: wall_time, gpu_time")
      ->capture_default_str();
  command
      ->add_option("--exact", options.exact,
                   "Counters that must not grow: flops, bytes, launches, allocations, ...")
      ->delimiter(',');
  command->add_option("--filter", wanted->filter, "Keep the cases this regular expression finds");
  command->add_option("--fail-on", wanted->fail_on, "Verdicts that fail: slower, ambiguous, ...")
      ->delimiter(',')
      ->check(CLI::IsMember({"slower", "ambiguous", "missing", "failed"}))
      ->capture_default_str();
  command->add_option("--format", wanted->format, "table, markdown, json, junit or github")
      ->check(CLI::IsMember({"table", "markdown", "json", "junit", "github"}))
      ->capture_default_str();
  command->add_flag("--cross-host", wanted->cross_host,
                    "Compare times of different machines or builds all the same");
  command->callback([wanted, &action] { action = [wanted] { return run_compare(*wanted); }; });
}

}  // namespace trainbench
