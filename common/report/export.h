#pragma once

#include <string>
#include <vector>

#include "common/report/run_files.h"

namespace trainbench {

/// A run for github-action-benchmark's "customBiggerIsBetter": a list of throughputs. Cases without
/// a speed (skipped, failed, simulated) are left out, here and below.
std::string to_github_action_benchmark(const Report& report);

/// A run in Bencher's metric format (BMF): by case, latency in nanoseconds and throughput with
/// their quartiles as bounds, and memory.
std::string to_bencher(const Report& report);

/// A history: runs in the order of their dates, of which each gives a row.
struct History {
  std::string csv;                      ///< time, commit, then a column for each case and metric
  std::vector<std::string> columns;     ///< those of the metrics
  std::vector<std::string> incomplete;  ///< cases left out, as some run has no value of them
};

/// What Apache Otava reads: it takes no empty cell, so a case that one run lacks is left out, and a
/// run that has none of the cases is no row.
History to_history(const std::vector<RunFile>& runs);

/// Otava's configuration for that history in `csv_file`, as JSON, which is YAML: one test,
/// "trainbench", with every column as a metric of which less is better.
std::string to_otava_config(const History& history, const std::string& csv_file);

}  // namespace trainbench
