#include "bench/commands/compare.h"

#include <memory>
#include <sstream>

#include "bench/commands/judge.h"
#include "common/core/error.h"

namespace trainbench {
namespace {

struct CompareCommand {
  std::string base;  // one or several files, separated by commas
  std::string fresh;
  JudgeOptions options;
};

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream stream(list);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  if (parts.empty()) throw InputError("each side needs the name of a result file, not \"\"");
  return parts;
}

int run_compare(const CompareCommand& command) {
  const std::string& filter = command.options.filter;
  const JudgedSide base = read_side(command.base, split(command.base), filter);
  const JudgedSide fresh = read_side(command.fresh, split(command.fresh), filter);
  return judge(base, fresh, command.options);
}

}  // namespace

void register_compare(CLI::App& app, std::function<int()>& action) {
  CLI::App* command = app.add_subcommand("compare", "Judge new results against a base");
  auto wanted = std::make_shared<CompareCommand>();
  command->add_option("base", wanted->base, "Result files of the base, separated by commas")
      ->required();
  command->add_option("new", wanted->fresh, "Result files to judge, separated by commas")
      ->required();
  add_judge_flags(*command, wanted->options);
  command->callback([wanted, &action] { action = [wanted] { return run_compare(*wanted); }; });
}

}  // namespace trainbench
