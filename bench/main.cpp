// trainbench: how much faster does this machine's GPU train a neural network than its CPU?

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>

#include "bench/build_info.h"
#include "bench/commands/ab.h"
#include "bench/commands/baseline.h"
#include "bench/commands/compare.h"
#include "bench/commands/export.h"
#include "bench/commands/gpu_probe.h"
#include "bench/commands/history.h"
#include "bench/commands/info.h"
#include "bench/commands/lint.h"
#include "bench/commands/list.h"
#include "bench/commands/predict.h"
#include "bench/commands/report.h"
#include "bench/commands/run.h"
#include "bench/commands/verify.h"
#include "bench/harness/gbench_flags.h"
#include "common/config/spelling.h"
#include "common/core/error.h"
#include "common/system/environment.h"

namespace trainbench {
namespace {

constexpr int kFailed = 1;
constexpr int kBadInput = 2;

/// CLI11 says of a misspelt subcommand that one is missing: this names the word.
void require_known_subcommands(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* command = &app;
  for (std::size_t i = 1; i < arguments.size() && !arguments[i].starts_with('-'); ++i) {
    const std::vector<const CLI::App*> choices = command->get_subcommands(nullptr);
    if (choices.empty()) return;
    const auto found = std::find_if(choices.begin(), choices.end(), [&](const CLI::App* choice) {
      return choice->get_name() == arguments[i];
    });
    if (found == choices.end()) {
      std::vector<std::string> known;
      for (const CLI::App* choice : choices) {
        if (!choice->get_group().empty()) known.push_back(choice->get_name());  // not hidden
      }
      throw InputError("unknown subcommand " + in_quotes(arguments[i]) + ": " +
                       right_spelling(arguments[i], {known.begin(), known.end()}));
    }
    command = *found;
  }
}

/// The names of a command's flags, hidden ones left out.
std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  return flags;
}

/// The first argument that a command did not know and what it may have been meant for, of which
/// CLI11 says less, or only what is missing for want of it; empty where there is none.
std::string unexpected_argument(const CLI::App& command) {
  const std::vector<std::string> arguments = command.remaining();
  if (arguments.empty()) {
    const std::vector<CLI::App*> below = command.get_subcommands();
    return below.empty() ? "" : unexpected_argument(*below.front());
  }
  const auto found = std::find_if(arguments.begin(), arguments.end(),
                                  [](const std::string& each) { return each.starts_with('-'); });
  if (found == arguments.end()) return "unexpected argument " + in_quotes(arguments.front());
  const std::string flag = found->substr(0, found->find('='));
  const std::vector<std::string> known = flags_of(command);
  return "unknown flag " + in_quotes(flag) + ": " +
         right_spelling(flag, {known.begin(), known.end()});
}

/// "trainbench baseline save": the command that the arguments chose.
std::string chosen_command(const CLI::App& command) {
  const std::vector<CLI::App*> below = command.get_subcommands();
  return command.get_name() + (below.empty() ? "" : " " + chosen_command(*below.front()));
}

/// A standard stream that was closed would be the next file that is opened, and take what is
/// printed. Opened the wrong way round it refuses it instead.
void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
  }
}

/// The exit code, once everything that was printed has arrived.
int after_output(int code) {
  const bool flushed = std::fflush(stdout) == 0;
  if (flushed && std::ferror(stdout) == 0) return code;
  std::fprintf(stderr, "trainbench: standard output cannot be written%s%s\n", flushed ? "" : ": ",
               flushed ? "" : std::strerror(errno));
  return code == 0 ? kBadInput : code;
}

/// One line, whatever a file that it names is called.
void print_error(const std::exception& error) {
  const std::string_view message = error.what();
  std::fprintf(stderr, "trainbench: %s\n", printable(message, message.size()).c_str());
}

int run_program(int argc, char** argv) {
  auto [ours, google_benchmark] = split_arguments(argc, argv);

  CLI::App app{"Measures how much faster this machine's GPU trains a neural network than its CPU.",
               "trainbench"};
  app.set_version_flag("--version", version_text());
  app.require_subcommand(1);
  app.fallthrough(false);

  std::function<int()> action;
  register_run(app, {argv, argv + argc}, google_benchmark, action);
  register_list(app, action);
  register_compare(app, action);
  register_ab(app, action);
  register_baseline(app, action);
  register_history(app, action);
  register_export(app, action);
  register_lint(app, action);
  register_report(app, action);
  register_info(app, action);
  register_predict(app, action);
  register_gpu_probe(app, action);
  register_verify(app, action);
  require_known_subcommands(app, ours);

  try {
    std::vector<std::string> reversed(ours.rbegin(), ours.rend() - 1);
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
    const std::string unexpected = unexpected_argument(app);
    if (!unexpected.empty()) throw InputError(unexpected);
    throw InputError(std::string(error.what()) + "; see " + chosen_command(app) + " --help");
  }
  if (!google_benchmark.empty() && !app.got_subcommand("run")) {
    throw InputError("only run takes flags for Google Benchmark after --");
  }
  return action();
}

}  // namespace
}  // namespace trainbench

int main(int argc, char** argv) {
  using namespace trainbench;
  try {
    occupy_standard_streams();
    std::signal(SIGXFSZ, SIG_IGN);  // a file size limit is then an error of the write
    sanitize_environment(argv);
    return after_output(run_program(argc, argv));
  } catch (const InputError& error) {
    print_error(error);
    return kBadInput;
  } catch (const std::exception& error) {
    print_error(error);
    return kFailed;
  }
}
