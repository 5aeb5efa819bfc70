#include "bench/commands/baseline.h"

#include <cstdio>
#include <memory>

#include "bench/commands/judge.h"
#include "bench/harness/number_flags.h"
#include "common/report/baseline.h"
#include "common/report/comparability.h"

namespace trainbench {
namespace {

constexpr std::uint64_t kMostRuns = 1000;

struct BaselineCommand {
  std::string folder = "results/baselines";
  std::vector<std::string> files;
  std::size_t last = 10;
  JudgeOptions judge;
};

std::string names_of(const std::vector<std::string>& files) {
  std::string names;
  for (const std::string& file : files) names += (names.empty() ? "" : ",") + file;
  return names;
}

int save(const BaselineCommand& command) {
  const BaselineStore store(command.folder);
  for (const std::string& file : command.files) {
    std::printf("baseline: %s\n", store.save(file).c_str());
  }
  return 0;
}

int check(const BaselineCommand& command) {
  const JudgedSide fresh = read_side(names_of(command.files), command.files, command.judge.filter);
  const Report& first = fresh.reports.front();
  const BaselineStore store(command.folder);
  std::vector<RunFile> runs =
      store.runs_for(first, command.last, !command.judge.compare.times || command.judge.cross_host);
  const NameFilter wanted(command.judge.filter);
  JudgedSide base;
  base.name = store.folder_of(first) + " (" + std::to_string(runs.size()) +
              (runs.size() == 1 ? " run)" : " runs)");
  for (RunFile& run : runs) {
    std::erase_if(run.report.results,
                  [&](const CaseResult& result) { return !wanted.finds(result.id.full_name()); });
    base.reports.push_back(std::move(run.report));
  }
  return judge(base, fresh, command.judge);
}

}  // namespace

void register_baseline(CLI::App& app, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("baseline", "Keep runs of this machine and build, judge others by them");
  command->require_subcommand(1);
  auto wanted = std::make_shared<BaselineCommand>();
  const auto add = [&](const char* name, const char* help, const char* files,
                       int (*run)(const BaselineCommand&)) {
    CLI::App* part = command->add_subcommand(name, help);
    part->add_option("files", wanted->files, files)->required();
    part->add_option("--dir", wanted->folder, "Where baselines are kept, by machine and build")
        ->capture_default_str();
    part->callback([wanted, &action, run] { action = [wanted, run] { return run(*wanted); }; });
    return part;
  };
  add("save", "Keep result files as baselines", "Result files", save);
  CLI::App* checking = add("check", "Judge results by the baselines of their machine and build",
                           "Result files to judge; several are several processes", check);
  checking->add_option("--last", wanted->last, "How many baseline runs to use: the newest")
      ->check(whole_number(1, kMostRuns))
      ->capture_default_str();
  add_judge_flags(*checking, wanted->judge);
}

}  // namespace trainbench
