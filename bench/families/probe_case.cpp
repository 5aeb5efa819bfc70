#include "bench/families/probe_case.h"

#include <algorithm>

#include "common/core/error.h"
#include "common/report/numbers.h"

namespace trainbench {
namespace {

constexpr std::int64_t kUnknownCache = std::int64_t{64} << 20;
/// An array of so many times the last cache leaves nothing there from one pass to the next.
constexpr std::int64_t kTimesLastCache = 4;

std::int64_t size_of_cache(const CacheLevel& cache) {
  return static_cast<std::int64_t>(cache.bytes);
}

}  // namespace

ProbeCase::ProbeCase(const SuiteCase& wanted, RunEnvironment& environment)
    : backend_(environment.devices.open(wanted.id.device,
                                        static_cast<int>(wanted.id.integer("threads", 0)))),
      probes_(backend_->make_probes()),
      timer_(*backend_, wanted.id.device == "gpu"),
      seed_(environment.seed) {}

Measurement ProbeCase::run(std::int64_t iterations) {
  return timer_.time(1, [&] { enqueue(iterations); });
}

std::int64_t ProbeCase::working_set(const CaseId& id, int arrays, bool one_unit) const {
  const auto most = static_cast<std::int64_t>(probes_->free_bytes() / 4);
  const std::int64_t asked = id.integer("kib", 0) * 1024;
  if (asked > most) {
    throw Unsupported("it needs " + bytes_text(static_cast<double>(asked)) +
                      ", more than a quarter of the free memory (" +
                      bytes_text(static_cast<double>(most)) + ")");
  }
  if (asked > 0) return asked;
  const std::vector<CacheLevel> caches = probes_->caches(one_unit);
  const auto last = caches.empty() ? kUnknownCache : static_cast<std::int64_t>(caches.back().bytes);
  return std::min(4 * last * arrays, most);
}

void ProbeCase::label_working_set(CaseResult& result, std::int64_t bytes, bool one_unit) const {
  const std::vector<CacheLevel> caches = probes_->caches(one_unit);
  result.details["working_set"]["held_by"] = "memory";
  std::size_t level = 0;
  // What is not four times the last cache is still there in part.
  if (!caches.empty() && bytes < kTimesLastCache * size_of_cache(caches.back())) {
    while (level + 1 < caches.size() && size_of_cache(caches[level]) < bytes) ++level;
    const bool whole = size_of_cache(caches[level]) >= bytes;
    result.details["working_set"]["held_by"] = (whole ? "" : "part ") + caches[level].name;
    ++level;
  }
  result.counters["working_set_bytes"] = static_cast<double>(bytes);
  result.counters["cache_level"] = static_cast<double>(level);
  for (const CacheLevel& cache : caches) {
    result.details["working_set"]["caches"][cache.name] = cache.bytes;
  }
}

}  // namespace trainbench
