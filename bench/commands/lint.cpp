#include "bench/commands/lint.h"

#include <cstdio>
#include <memory>

#include "common/config/json_file.h"
#include "common/config/spelling.h"
#include "common/core/error.h"
#include "common/report/lint.h"
#include "common/report/run_files.h"

namespace trainbench {
namespace {

constexpr int kFound = 1;
/// What is shown of a name or a text that stands in a file.
constexpr std::size_t kLongest = 400;

struct LintCommand {
  std::vector<std::string> files;
  std::string format = "table";
};

std::string shown(const std::string& text) { return printable(text, kLongest); }

std::string files_of(const Finding& finding, const std::vector<RunFile>& runs) {
  std::string files;
  for (const std::size_t place : finding.reports) {
    files += (files.empty() ? "" : ", ") + shown(runs[place].path);
  }
  return files;
}

std::string to_text(const std::vector<Finding>& findings, const std::vector<RunFile>& runs) {
  if (findings.empty()) {
    return "Nothing found by " + std::to_string(lint_rules().size()) + " rules in " +
           std::to_string(runs.size()) + (runs.size() == 1 ? " file.\n" : " files.\n");
  }
  std::string text;
  std::string_view rule;
  for (const Finding& finding : findings) {
    if (finding.rule.id != rule) {
      rule = finding.rule.id;
      text += (text.empty() ? "" : "\n") + std::string(rule) + ": " +
              std::string(finding.rule.sentence) + "\n";
    }
    text += "  " + files_of(finding, runs) + ": ";
    if (!finding.where.empty()) text += shown(finding.where) + ": ";
    text += shown(finding.detail) + "\n";
  }
  return text;
}

std::string to_json_text(const std::vector<Finding>& findings, const std::vector<RunFile>& runs) {
  Json rules = Json::array();
  for (const LintRule& rule : lint_rules()) {
    rules.push_back({{"id", rule.id}, {"sentence", rule.sentence}});
  }
  Json list = Json::array();
  for (const Finding& finding : findings) {
    Json files = Json::array();
    for (const std::size_t place : finding.reports) files.push_back(runs[place].path);
    list.push_back({{"rule", finding.rule.id},
                    {"files", std::move(files)},
                    {"where", finding.where},
                    {"detail", finding.detail}});
  }
  Json files = Json::array();
  for (const RunFile& run : runs) files.push_back(run.path);
  const Json document{
      {"files", std::move(files)}, {"rules", std::move(rules)}, {"findings", std::move(list)}};
  // In ASCII no control character of a file's text reaches a terminal.
  return document.dump(2, ' ', true, Json::error_handler_t::replace) + "\n";
}

int run_lint(const LintCommand& command) {
  const std::vector<RunFile> runs = read_run_files(command.files, NameFilter(""));
  std::vector<const Report*> reports;
  for (const RunFile& run : runs) {
    if (!run.report.context.is_object()) {
      throw InputError(run.path + ": is another program's; a result of trainbench run is needed");
    }
    if (run.report.results.empty()) throw InputError(run.path + ": holds no case");
    reports.push_back(&run.report);
  }
  const std::vector<Finding> findings = lint(reports);
  const auto write = command.format == "json" ? to_json_text : to_text;
  std::fputs(write(findings, runs).c_str(), stdout);
  return findings.empty() ? 0 : kFound;
}

}  // namespace

void register_lint(CLI::App& app, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("lint", "List what in result files would fool their reader");
  auto wanted = std::make_shared<LintCommand>();
  command->add_option("files", wanted->files, "Result files, or folders of them")->required();
  command->add_option("--format", wanted->format, "table or json")
      ->check(CLI::IsMember({"table", "json"}))
      ->capture_default_str();
  command->callback([wanted, &action] { action = [wanted] { return run_lint(*wanted); }; });
}

}  // namespace trainbench
