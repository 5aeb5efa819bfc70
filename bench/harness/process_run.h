#pragma once

#include <string>
#include <vector>

#include "common/config/suite.h"
#include "common/report/result.h"

namespace trainbench {

/// How a run is spread over processes.
struct ProcessRunOptions {
  int processes = 1;
  int repetitions = 10;     ///< of each case over all processes
  double time_limit = 300;  ///< seconds that preparing a case or one repetition of it may take
  /// What starts a worker; `--job FILE` is appended before its "--", or at the end.
  std::vector<std::string> command;
  std::string folder;  ///< for the workers' files
};

/// Runs the cases in worker processes, one after the other, each with a share of the repetitions
/// and its own random order. A worker that crashes, is killed, passes the time limit or loses its
/// GPU costs the case it was in: that has failed with the reason, what was measured is kept, and a
/// fresh worker does the rest. Stops early when interrupted().
std::vector<CaseResult> run_in_processes(const std::vector<SuiteCase>& cases,
                                         const ProcessRunOptions& options);

}  // namespace trainbench
