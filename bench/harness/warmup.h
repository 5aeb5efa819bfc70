#pragma once

#include <cstdint>
#include <functional>

namespace trainbench {

/// When warming up ends: as soon as the last `agreeing` samples lie within `tolerance` of each
/// other and `min_seconds` have passed, at the latest after `max_seconds`.
struct WarmupRule {
  double min_seconds = 0.05;
  double max_seconds = 2.0;
  int agreeing = 5;
  double tolerance = 0.02;
};

struct WarmupResult {
  double seconds_per_iteration = 0;  ///< median of the last samples
  std::int64_t iterations = 0;
  double seconds = 0;
  bool agreed = false;  ///< false: stopped by time
};

/// Runs `run(n)`, which returns the seconds that n iterations took, until the rule ends it. Single
/// iterations shorter than a millisecond are grouped, so that a sample is no clock tick.
WarmupResult warm_up(const WarmupRule& rule, const std::function<double(std::int64_t)>& run);

}  // namespace trainbench
