#include "common/report/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "common/core/error.h"
#include "common/core/philox.h"

namespace trainbench {
namespace {

constexpr std::size_t kResamples = 10000;

/// Random numbers in a row from a stream.
class Sequence {
 public:
  Sequence(std::uint64_t seed, std::uint64_t stream) : generator_(seed, stream) {}

  /// Uniform in [0, bound), which is far below 2^32.
  std::size_t below(std::size_t bound) {
    if (next_ % 4 == 0) words_ = generator_.block(next_ / 4);
    return static_cast<std::size_t>((std::uint64_t{words_.word[next_++ % 4]} * bound) >> 32);
  }

 private:
  Philox generator_;
  PhiloxWords words_{};
  std::uint64_t next_ = 0;
};

double resampled_median(const std::vector<double>& values, Sequence& random,
                        std::vector<double>& drawn) {
  drawn.resize(values.size());
  for (double& value : drawn) value = values[random.below(values.size())];
  std::sort(drawn.begin(), drawn.end());
  return sorted_quantile(drawn, 0.5);
}

}  // namespace

double sorted_quantile(const std::vector<double>& sorted, double p) {
  require(!sorted.empty() && p >= 0 && p <= 1, "a quantile of at least one value");
  const double position = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  const double part = position - static_cast<double>(below);
  return sorted[below] + part * (sorted[above] - sorted[below]);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return sorted_quantile(values, 0.5);
}

double mean(const std::vector<double>& values) {
  require(!values.empty(), "the mean of at least one value");
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double standard_deviation(const std::vector<double>& values) {
  if (values.size() < 2) return 0;
  // Around the mean, not by the difference of two large sums, which cancels.
  const double center = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - center) * (value - center);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double geometric_mean(const std::vector<double>& values) {
  require(!values.empty(), "the geometric mean of at least one value");
  double logarithms = 0;
  for (const double value : values) logarithms += std::log(value);
  return std::exp(logarithms / static_cast<double>(values.size()));
}

Summary summarize(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  Summary summary;
  summary.count = values.size();
  summary.first_quartile = sorted_quantile(values, 0.25);
  summary.median = sorted_quantile(values, 0.5);
  summary.third_quartile = sorted_quantile(values, 0.75);
  summary.p95 = sorted_quantile(values, 0.95);
  summary.minimum = values.front();
  summary.maximum = values.back();
  for (double& value : values) value = std::abs(value - summary.median);
  // 1 / the 0.75-quantile of the standard normal distribution.
  constexpr double kNormalConsistency = 1.4826022185056018;
  summary.jitter = kNormalConsistency * median(std::move(values));
  return summary;
}

Interval median_interval(std::vector<double> values, double level) {
  std::sort(values.begin(), values.end());
  require(!values.empty(), "an interval of at least one value");
  const std::size_t n = values.size();
  // The median lies outside [x(r), x(n + 1 - r)] where fewer than r of n fall on one of its sides:
  // with the probability 2 P(Binomial(n, 1/2) < r).
  double probability = std::pow(0.5, static_cast<double>(n));  // of exactly r
  double outside = 2 * probability;
  std::size_t rank = 1;
  for (std::size_t r = 1; 2 * (r + 1) <= n + 1; ++r) {
    probability *= static_cast<double>(n - r + 1) / static_cast<double>(r);
    if (outside + 2 * probability > 1 - level) break;
    outside += 2 * probability;
    rank = r + 1;
  }
  return {values[rank - 1], values[n - rank], std::max(0.0, 1 - outside)};
}

Interval ratio_interval(const std::vector<double>& numerator,
                        const std::vector<double>& denominator, double level, std::uint64_t seed) {
  require(!numerator.empty() && !denominator.empty(), "an interval of at least one value");
  Sequence above(seed, 0);
  Sequence below(seed, 1);
  std::vector<double> drawn;
  std::vector<double> ratios(kResamples);
  for (double& ratio : ratios) {
    ratio = resampled_median(numerator, above, drawn);
    ratio /= resampled_median(denominator, below, drawn);
  }
  std::sort(ratios.begin(), ratios.end());
  const double tail = (1 - level) / 2;
  return {sorted_quantile(ratios, tail), sorted_quantile(ratios, 1 - tail), level};
}

}  // namespace trainbench
