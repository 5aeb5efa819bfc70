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
  bool complete = false;            ///< it wrote its result
  std::string unfinished;           ///< the case that it died in; empty where that is unknown
  std::string death;                ///< "its process was ended by ..."; empty where it ended well
};
WorkerResult read_worker_result(const std::string& out);

/// Runs a program that writes the result file `out`, its standard error going to the file `errors`
/// or where ours goes. It dies where its journal does not grow for `time_limit` seconds; an
/// interrupt is passed on.
WorkerResult run_worker(const std::vector<std::string>& command, const std::string& out,
                        double time_limit, const std::string& errors = "");

/// Adds what one process found of a case to what others did.
void add_part(CaseResult& into, const CaseResult& part);

}  // namespace trainbench
