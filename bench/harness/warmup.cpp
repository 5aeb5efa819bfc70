#include "bench/harness/warmup.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <vector>

namespace trainbench {
namespace {

constexpr double kShortestSample = 1e-3;

double median_of(const std::deque<double>& samples) {
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted[sorted.size() / 2];
}

bool agree(const std::deque<double>& samples, double tolerance) {
  const auto [low, high] = std::minmax_element(samples.begin(), samples.end());
  return *high - *low <= tolerance * *low;
}

}  // namespace

WarmupResult warm_up(const WarmupRule& rule, const std::function<double(std::int64_t)>& run) {
  WarmupResult result;
  std::int64_t group = 1;
  std::deque<double> samples;
  while (true) {
    const double seconds = run(group);
    result.iterations += group;
    result.seconds += seconds;
    const double each = seconds / static_cast<double>(group);
    if (seconds < kShortestSample && result.seconds < rule.max_seconds) {
      group =
          std::clamp(static_cast<std::int64_t>(std::ceil(kShortestSample / std::max(each, 1e-9))),
                     group + 1, group * 16);
      samples.clear();
      result.seconds_per_iteration = each;
      continue;
    }
    samples.push_back(each);
    if (static_cast<int>(samples.size()) > rule.agreeing) samples.pop_front();
    result.seconds_per_iteration = median_of(samples);
    result.agreed = static_cast<int>(samples.size()) == rule.agreeing &&
                    agree(samples, rule.tolerance) && result.seconds >= rule.min_seconds;
    if (result.agreed || result.seconds >= rule.max_seconds) return result;
  }
}

}  // namespace trainbench
