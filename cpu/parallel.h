#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <string>

#include "common/core/error.h"

#if defined(__SSE__)
#include <immintrin.h>
#endif

namespace trainbench {

/// While it lives, the calling thread's results below the smallest normal number become zero: the
/// momentum of a dead unit decays into subnormals, which cost a hundred cycles an operation on some
/// CPUs. Subnormal operands stay as they are: binary16 is widened through them.
class FlushToZero {
 public:
#if defined(__SSE__)
  FlushToZero() : before_(_mm_getcsr()) { _mm_setcsr(before_ | kFlush); }
  ~FlushToZero() { _mm_setcsr(before_); }
#else
  FlushToZero() {}
  ~FlushToZero() {}
#endif
  FlushToZero(const FlushToZero&) = delete;
  FlushToZero& operator=(const FlushToZero&) = delete;

#if defined(__SSE__)
 private:
  static constexpr unsigned kFlush = 0x8000;
  unsigned before_;
#endif
};

/// Part `part` of `parts` equal ones of [0, count), in whole grains.
struct Range {
  std::int64_t first = 0;
  std::int64_t last = 0;
};
inline Range part_of(std::int64_t count, std::int64_t grain, std::int64_t part,
                     std::int64_t parts) {
  const std::int64_t grains = (count + grain - 1) / grain;
  return {std::min(count, grains * part / parts * grain),
          std::min(count, grains * (part + 1) / parts * grain)};
}

/// Parts that `count` is cut into: at most `threads`, none below a grain.
inline int parts_of(int threads, std::int64_t count, std::int64_t grain) {
  return static_cast<int>(std::min<std::int64_t>(threads, (count + grain - 1) / grain));
}

/// Calls body(part, Range) on each of parts_of() parts of [0, count), in parallel. The parts depend
/// on the arguments alone, so equal thread counts give equal results, and every pass over a buffer
/// gives a thread the pages that it touched first. Counts up to a grain stay on the calling thread.
template <class Body>
void parallel_parts(int threads, std::int64_t count, std::int64_t grain, const Body& body) {
  const int parts = parts_of(threads, count, grain);
  if (parts <= 1) {
    const FlushToZero flush;
    if (count > 0) body(0, Range{0, count});
    return;
  }
#pragma omp parallel num_threads(parts)
  {
    const FlushToZero flush;
#pragma omp for schedule(static, 1)
    for (int part = 0; part < parts; ++part) body(part, part_of(count, grain, part, parts));
  }
}

/// The same where the body needs no more than its Range.
template <class Body>
void parallel_ranges(int threads, std::int64_t count, std::int64_t grain, const Body& body) {
  parallel_parts(threads, count, grain, [&body](int, Range range) { body(range); });
}

/// Throws InputError where the environment holds OpenMP to fewer threads: what is reported for so
/// many would have been computed by fewer.
inline void require_threads(int threads) {
  omp_set_dynamic(0);
  const int limit = omp_get_thread_limit();
  if (threads <= limit) return;
  throw InputError("OMP_THREAD_LIMIT=" + std::to_string(limit) + " is below the " +
                   std::to_string(threads) +
                   " threads to measure: unset it; taskset limits the cores that are used");
}

/// Elements that are worth a thread's wake-up in a pass that is bound by memory.
inline constexpr std::int64_t kGrain = 4096;

}  // namespace trainbench
