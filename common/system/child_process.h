#pragma once

#include <functional>
#include <string>
#include <vector>

namespace trainbench {

/// How a child process ended and what it wrote to its standard output until then.
struct ChildResult {
  std::string output;
  bool timed_out = false;  ///< it was killed at the limit
  int signal = 0;          ///< that ended it; 0: it exited
  int exit_code = 0;

  bool good() const { return !timed_out && signal == 0 && exit_code == 0; }
  /// "did not end within 20 s", "was ended by SIGSEGV (Segmentation fault)", "was killed (SIGKILL),
  /// most likely out of memory", "ended with exit code 1"; empty where good().
  std::string failure(double limit_seconds) const;
};

/// What somebody who watches a child wants done with it.
enum class ChildOrder {
  go_on,
  restart_limit,  ///< it has come on: its limit begins again
  interrupt,      ///< SIGINT, once, to all of its processes
};
using ChildWatch = std::function<ChildOrder()>;

/// Runs a program with a time limit, standard error going to the file `errors`, or where ours goes.
/// It is in a process group of its own, so that a terminal's Ctrl-C does not reach it, and is
/// killed where this process dies. `watch` is asked a few times a second while it runs. Throws
/// std::system_error where no process can be made.
ChildResult run_child(const std::vector<std::string>& arguments, double limit_seconds,
                      const ChildWatch& watch = {}, const std::string& errors = "");

}  // namespace trainbench
