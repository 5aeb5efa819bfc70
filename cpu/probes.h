#pragma once

#include "common/probes.h"
#include "common/system/cpu_topology.h"

namespace trainbench {

/// The probes on host memory, by OpenMP threads. Calls return when the work is done.
class CpuProbes final : public Probes {
 public:
  explicit CpuProbes(int threads)
      : threads_(threads),
        topology_(read_cpu_topology()),
        sums_(static_cast<std::size_t>(threads)) {}

  std::vector<CacheLevel> caches(bool one_unit) const override;
  std::size_t free_bytes() const override;

  void stream(StreamKernel kernel, const StreamOperands& operands, std::int64_t passes) override;
  std::string stream_stores(std::size_t bytes) const override;

 private:
  int threads_;
  CpuTopology topology_;
  std::vector<double> sums_;  // of each thread
};

}  // namespace trainbench
