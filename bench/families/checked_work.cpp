#include "bench/families/checked_work.h"

#include "common/check/check_backend.h"
#include "common/core/error.h"
#include "common/cost/cost_backend.h"

namespace trainbench {

void check_work(Backend& backend, std::uint64_t seed, const Work& work, CaseResult& result) {
  CheckBackend checked(backend, seed);
  work(checked);
  backend.synchronize();
  const CheckSummary summary = checked.summary();
  result.counters["max_relative_error"] = summary.max_relative_error;
  result.counters["error_of_tolerance"] = summary.used;
  result.counters["checked_outputs"] = static_cast<double>(summary.outputs);
  if (!summary.passed) throw DeviceError("output check failed: " + summary.worst);
}

void count_work(const Work& work, CaseResult& result) {
  CostBackend cost;
  work(cost);
  result.counters["flops_per_iteration"] = cost.total().flops;
  result.counters["bytes_per_iteration"] = cost.total().bytes;
  std::int64_t operations = 0;
  for (const OperationCost& each : cost.operations()) operations += each.calls;
  result.counters["operations_per_iteration"] = static_cast<double>(operations);
}

}  // namespace trainbench
