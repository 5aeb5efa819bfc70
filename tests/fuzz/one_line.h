#pragma once

#include <cstdlib>
#include <exception>
#include <string>

namespace trainbench::testing {

/// What the readers promise of an InputError: one line that starts with the input's name. Ends the
/// fuzzing otherwise.
inline void require_one_line(const std::exception& error, const std::string& name) {
  const std::string message = error.what();
  const bool starts = message.rfind(name + ":", 0) == 0;
  if (!starts || message.find_first_of("\n\r") != std::string::npos) std::abort();
}

}  // namespace trainbench::testing
