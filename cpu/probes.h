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

  std::int64_t line_bytes() const override { return 64; }
  void chase(ConstTensor table, std::int64_t loads, Tensor place) override;
  void chains(std::int64_t steps, Tensor last) override;
  std::string chain_layout(std::int64_t chains) const override;

  int units() const override { return threads_; }
  void empty(Tensor counts) override;
  void barriers(std::int64_t times, Tensor counts) override;

  std::unique_ptr<HostMemory> allocate_host(std::size_t bytes, bool pinned) override;
  void transfer(const Transfer& copies, std::int64_t times) override;

 private:
  int threads_;
  CpuTopology topology_;
  std::vector<double> sums_;  // of each thread
};

}  // namespace trainbench
