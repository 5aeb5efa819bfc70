#pragma once

#include <string>
#include <vector>

#include "common/config/json_file.h"
#include "common/report/result.h"
#include "common/report/statistics.h"

namespace trainbench {

/// What is compared among itself: the workload and every key but batch, threads and provider, as
/// "train/mlp" or "train/mlp, boundary:end-to-end".
std::string group_name(const CaseId& id);

/// The devices of the report's context; an empty list where it has none.
Json devices_of(const Report& report);

/// CPU threads that a case ran on: its own key, or the device's.
std::int64_t cores_used(const Report& report, const CaseId& id);

/// How much less wall time a sample takes on the GPU than on the CPU.
struct Speedup {
  const CaseResult* cpu = nullptr;
  const CaseResult* gpu = nullptr;
  std::string label;  ///< "fp32", "best of each": what the pair has in common
  double ratio = 0;   ///< of the medians
  Interval interval;
  double peak_ratio = 0;  ///< measured peak FLOP/s of the pair's precisions; 0: unknown
};

/// The pairs of one group: at each batch the same precision on both and the best of each, then the
/// best over all batches. The CPU's side is its fastest row over thread counts. Simulated, failed
/// and skipped rows take no part.
std::vector<Speedup> speedups(const Report& report, const std::string& group);

/// The pairs of all groups as a table; empty where there is none.
std::string speedup_text(const Report& report);

}  // namespace trainbench
