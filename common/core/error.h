#pragma once

#include <stdexcept>
#include <string>

namespace trainbench {

/// Wrong input from outside: a flag, a config, a data file, the environment. The message is one
/// line that names what was wrong and what would be right. Ends the program with exit code 2.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Something this machine, device or build cannot do. The case is skipped with the message as its
/// reason.
class Unsupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A device or library call failed, or a result did not pass its check. The case has failed.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Checks a precondition of the code itself; a failure is a bug, not bad input.
inline void require(bool condition, const char* what) {
  if (!condition) throw std::logic_error(std::string("broken precondition: ") + what);
}

}  // namespace trainbench
