// trainbench: how much faster does this machine's GPU train a neural network than its CPU?

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
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
#include "bench/commands/list.h"
#include "bench/commands/predict.h"
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
void require_known_subcommand(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.size() < 2 || arguments[1].starts_with('-')) return;
  std::vector<std::string_view> known;
  for (const CLI::App* command : app.get_subcommands(nullptr)) {
    if (command->get_name() == arguments[1]) return;
    if (command->get_group().empty()) continue;  // hidden
    known.push_back(command->get_name());
  }
  throw InputError("unknown subcommand " + in_quotes(arguments[1]) + ": " +
                   right_spelling(arguments[1], known));
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
  register_info(app, action);
  register_predict(app, action);
  register_gpu_probe(app, action);
  register_verify(app, action);
  require_known_subcommand(app, ours);

  try {
    std::vector<std::string> reversed(ours.rbegin(), ours.rend() - 1);
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) return app.exit(error);
    std::fprintf(stderr, "trainbench: %s; see trainbench --help\n", error.what());
    return kBadInput;
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
    std::fprintf(stderr, "trainbench: %s\n", error.what());
    return kBadInput;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "trainbench: %s\n", error.what());
    return kFailed;
  }
}
