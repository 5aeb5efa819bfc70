#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench/harness/case.h"
#include "bench/harness/warmup.h"
#include "common/config/suite.h"
#include "common/report/result.h"

namespace trainbench {

struct RunnerOptions {
  /// Prepares a case; may throw what CaseFactory may.
  std::function<std::unique_ptr<PreparedCase>(const SuiteCase&)> prepare;
  int repetitions = 10;
  std::map<std::string, int> own_repetitions;  ///< of cases that take another number, by name
  double min_time = 0.1;                       ///< least seconds of one repetition
  bool interleave = true;
  WarmupRule warmup;
  std::vector<std::string> google_benchmark_flags;
  int process = 0;       ///< its number, for the samples
  std::string progress;  ///< what the progress line begins with
  /// A device error on a GPU may leave the whole process without it: nothing more is run.
  bool stop_at_gpu_failure = false;
  /// Called before a case is prepared and before each of its repetitions.
  std::function<void(const CaseId&)> on_begin;
  /// Called once a case has passed its check, with what that filled in.
  std::function<void(const CaseResult&)> on_checked;
  /// Called with each repetition as it ends, before anything else can go wrong.
  std::function<void(const CaseResult&, const Sample&)> on_sample;
};

/// Runs the cases under Google Benchmark: each is prepared, checked against the reference and
/// warmed up, then all repetitions are taken in random order over all cases. A case that throws
/// costs only itself. Stops early, with what was measured, when interrupted().
std::vector<CaseResult> run_cases(const std::vector<SuiteCase>& cases,
                                  const RunnerOptions& options);

}  // namespace trainbench
