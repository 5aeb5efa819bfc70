#pragma once

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
  /// "did not end within 20 s", "was ended by signal 11 (Segmentation fault)", "ended with exit
  /// code 1"; empty where good().
  std::string failure(double limit_seconds) const;
};

/// Runs a program with a time limit, standard error going where ours goes. Throws
/// std::system_error where no process can be made.
ChildResult run_child(const std::vector<std::string>& arguments, double limit_seconds);

}  // namespace trainbench
