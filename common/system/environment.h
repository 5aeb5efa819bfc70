#pragma once

#include <map>
#include <string>
#include <vector>

namespace trainbench {

/// What was done to the environment before any library could read it.
struct SanitizedEnvironment {
  std::map<std::string, std::string> cleared;  ///< variables that change arithmetic, as they were
  std::map<std::string, std::string> set;      ///< defaults given to variables that were absent
  bool restarted = false;  ///< the program was started again, so that load-time readers saw it too
};

/// What sanitizing would do to an environment of "NAME=value" strings. `bind_threads`: OpenMP's
/// threads are bound to cores, unless the environment says how.
SanitizedEnvironment plan_environment(const std::vector<std::string>& environment,
                                      bool bind_threads);

/// Clears variables that change a library's arithmetic and gives OpenMP its defaults, then starts
/// the program again, once, with the same arguments: libraries may have read the old values while
/// they were loaded. Call it first in main(). Where that start fails the process goes on with the
/// corrected environment and `restarted` is false.
const SanitizedEnvironment& sanitize_environment(char** argv);

/// What sanitize_environment() did; empty before it ran.
const SanitizedEnvironment& sanitized_environment();

/// The variables of this process that decide how libraries compute, schedule and are found. Lists
/// names that cannot hold a secret, as reports are shared.
std::map<std::string, std::string> relevant_environment();

}  // namespace trainbench
