#pragma once

#include <functional>
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
  double min_time = 0.1;  ///< least seconds of one repetition
  bool interleave = true;
  WarmupRule warmup;
  std::vector<std::string> google_benchmark_flags;
  /// Called with each repetition as it ends, before anything else can go wrong.
  std::function<void(const CaseResult&, const Sample&)> on_sample;
};

/// Runs the cases under Google Benchmark: each is prepared, checked against the reference and
/// warmed up, then all repetitions are taken in random order over all cases. A case that throws
/// costs only itself. Stops early, with what was measured, when interrupted().
std::vector<CaseResult> run_cases(const std::vector<SuiteCase>& cases,
                                  const RunnerOptions& options);

}  // namespace trainbench
