#include "bench/commands/history.h"

#include <array>
#include <cstdio>
#include <memory>

#include "common/config/spelling.h"
#include "common/core/error.h"
#include "common/report/counters.h"
#include "common/report/history.h"

namespace trainbench {
namespace {

struct HistoryCommand {
  std::vector<std::string> files;
  std::string filter;
  std::string metric = kWallTime;
  std::string format = "table";
};

struct Format {
  const char* name;
  std::string (*write)(const std::vector<Trend>&, const std::string&);
};
constexpr std::array kFormats{Format{"table", history_to_table},
                              Format{"markdown", history_to_markdown},
                              Format{"csv", history_to_csv}, Format{"json", history_to_json}};

constexpr const char* kChangePoints =
    "\nWhere a trend changed is a question for a change-point test, Apache Otava's:\n"
    "  trainbench export DIR --format csv --out history.csv --otava otava.json\n"
    "  otava analyze --config-file otava.json trainbench\n";

int run_history(const HistoryCommand& command) {
  const std::vector<RunFile> runs = read_run_files(command.files, NameFilter(command.filter));
  const std::vector<Trend> found = trends(runs, command.metric);
  if (found.empty()) {
    throw InputError("no case of the " + std::to_string(runs.size()) + " files has " +
                     in_quotes(command.metric));
  }
  for (const Format& format : kFormats) {
    if (command.format == format.name) {
      std::fputs(format.write(found, command.metric).c_str(), stdout);
    }
  }
  if (command.format == "table") std::fputs(kChangePoints, stdout);
  return 0;
}

}  // namespace

void register_history(CLI::App& app, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("history", "Show how each case went over many result files");
  auto wanted = std::make_shared<HistoryCommand>();
  command->add_option("files", wanted->files, "Folders of result files, or files")->required();
  command->add_option("--metric", wanted->metric, "A time, or any counter of the results")
      ->capture_default_str();
  command->add_option("--filter", wanted->filter, "Keep the cases this regular expression finds");
  std::vector<std::string> names;
  for (const Format& format : kFormats) names.emplace_back(format.name);
  command->add_option("--format", wanted->format, "table, markdown, csv or json")
      ->check(CLI::IsMember(names))
      ->capture_default_str();
  command->callback([wanted, &action] { action = [wanted] { return run_history(*wanted); }; });
}

}  // namespace trainbench
