#include "bench/commands/export.h"

#include <cstdio>
#include <memory>

#include "common/core/error.h"
#include "common/report/atomic_file.h"
#include "common/report/case_values.h"
#include "common/report/export.h"

namespace trainbench {
namespace {

struct ExportCommand {
  std::vector<std::string> files;
  std::string filter;
  std::string format;
  std::string out = "-";
  std::string otava;
};

void write(const std::string& path, const std::string& text) {
  if (path == "-") {
    std::fputs(text.c_str(), stdout);
  } else {
    write_file_atomically(path, text);
  }
}

/// A format that holds one run takes one file.
const Report& only_run(const std::vector<RunFile>& runs, const std::string& format) {
  if (runs.size() == 1) return runs.front().report;
  throw InputError("--format " + format + " holds one run, not " + std::to_string(runs.size()) +
                   "; csv holds many");
}

void require_speed(const std::vector<RunFile>& runs) {
  for (const RunFile& run : runs) {
    for (const CaseResult& result : run.report.results) {
      if (has_speed(result)) return;
    }
  }
  throw InputError(runs.front().path + ": no case of it has a speed to export");
}

int export_history(const ExportCommand& command, const std::vector<RunFile>& runs) {
  const History history = to_history(runs);
  if (history.columns.empty()) throw InputError("no case is in every run; --filter chooses fewer");
  for (const std::string& column : history.incomplete) {
    std::fprintf(stderr, "trainbench: left out, not in every run: %s\n", column.c_str());
  }
  write(command.out, history.csv);
  if (!command.otava.empty()) write(command.otava, to_otava_config(history, command.out));
  return 0;
}

int run_export(const ExportCommand& command) {
  if (!command.otava.empty() && (command.format != "csv" || command.out == "-")) {
    throw InputError(
        "--otava names the CSV file that Otava reads: it needs --format csv and --out");
  }
  const std::vector<RunFile> runs = read_run_files(command.files, NameFilter(command.filter));
  require_speed(runs);
  if (command.format == "csv") return export_history(command, runs);
  const Report& report = only_run(runs, command.format);
  write(command.out,
        command.format == "bencher" ? to_bencher(report) : to_github_action_benchmark(report));
  return 0;
}

}  // namespace

void register_export(CLI::App& app, std::function<int()>& action) {
  CLI::App* command = app.add_subcommand("export", "Write results for other tools");
  auto wanted = std::make_shared<ExportCommand>();
  command->add_option("files", wanted->files, "Result files, or folders of them")->required();
  command
      ->add_option("--format", wanted->format,
                   "github-action-benchmark (customBiggerIsBetter: throughput), bencher (BMF), or "
                   "csv: a row for each run, as Apache Otava reads it")
      ->check(CLI::IsMember({"github-action-benchmark", "bencher", "csv"}))
      ->required();
  command->add_option("--out", wanted->out, "The file to write; - for standard output")
      ->capture_default_str();
  command->add_option("--otava", wanted->otava,
                      "With csv, also write Otava's configuration for it to this file");
  command->add_option("--filter", wanted->filter, "Keep the cases this regular expression finds");
  command->callback([wanted, &action] { action = [wanted] { return run_export(*wanted); }; });
}

}  // namespace trainbench
