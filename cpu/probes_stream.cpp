#include <algorithm>
#include <vector>

#include "common/system/cgroup.h"
#include "cpu/parallel.h"
#include "cpu/probes.h"
#include "cpu/stream_kernels.h"

namespace trainbench {
namespace {

/// Arrays that the caches cannot hold are stored around them.
Stores stores_for(const CpuProbes& probes, std::size_t bytes) {
  const std::vector<CacheLevel> caches = probes.caches(false);
  return caches.empty() || bytes > caches.back().bytes ? Stores::streaming : Stores::cached;
}

}  // namespace

std::vector<CacheLevel> CpuProbes::caches(bool one_unit) const {
  std::vector<CacheLevel> levels;
  for (const CpuCache& cache : topology_.caches) {
    if (cache.type == "Instruction") continue;
    const int used = one_unit ? 1 : std::clamp(threads_, 1, std::max(cache.instances, 1));
    levels.push_back({"L" + std::to_string(cache.level), cache.bytes * used});
  }
  std::sort(levels.begin(), levels.end(),
            [](const CacheLevel& one, const CacheLevel& other) { return one.bytes < other.bytes; });
  return levels;
}

std::size_t CpuProbes::free_bytes() const { return usable_memory(); }

void CpuProbes::stream(StreamKernel kernel, const StreamOperands& operands, std::int64_t passes) {
  const auto first_of = [](auto tensor, std::int64_t first) {
    return tensor.absent() ? nullptr : tensor.template as<float>() + first;
  };
  const std::int64_t count = operands.elements();
  require(count % kStreamGrain == 0, "stream's arrays are whole grains");
  const Stores stores = stores_for(*this, operands.bytes(kernel));
  std::fill(sums_.begin(), sums_.end(), 0.0);
  parallel_parts(threads_, count, kStreamGrain, [&](int part, Range range) {
    const StreamPart own{first_of(operands.a, range.first), first_of(operands.b, range.first),
                         first_of(operands.c, range.first), range.last - range.first};
    double sum = 0;
    for (std::int64_t pass = 0; pass < passes; ++pass) sum = stream_pass(kernel, stores, own);
    sums_[static_cast<std::size_t>(part)] = sum;
  });
  if (operands.sum.absent()) return;
  double total = 0;
  for (const double sum : sums_) total += sum;
  *operands.sum.as<double>() = total;
}

std::string CpuProbes::stream_stores(std::size_t bytes) const {
  return stores_for(*this, bytes) == Stores::streaming ? "around the caches" : "through the caches";
}

}  // namespace trainbench
