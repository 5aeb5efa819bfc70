#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/report/result.h"

namespace trainbench {

/// What a run gives one of its worker processes to do, as a file: the worker has the run's own
/// command line beside it.
struct WorkerJob {
  int process = 0;       ///< its number, for the samples
  std::string progress;  ///< what its progress line begins with
  std::string out;       ///< the result file that it writes when it ends well
  /// Names of cases in the order to prepare them, and how often each is measured.
  std::vector<std::pair<std::string, int>> repetitions;
};

void write_job(const WorkerJob& job, const std::string& path);

/// Throws InputError that names the file.
WorkerJob read_job(const std::string& path);

/// Where a run that writes `out` journals.
std::string journal_path(const std::string& out);

/// What a worker did, from its result file, or from its journal where it died before writing one.
struct WorkerResult {
  std::vector<CaseResult> results;  ///< of the cases that it came to
  bool complete = false;            ///< it ended well
  std::string unfinished;           ///< the case that it died in; empty where that is unknown
};
WorkerResult read_worker_result(const std::string& out);

}  // namespace trainbench
