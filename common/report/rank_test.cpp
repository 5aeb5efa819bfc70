#include "common/report/rank_test.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "common/core/error.h"

namespace trainbench {
namespace {

constexpr std::size_t kLargestExact = 100;

/// Ranks of all values of a then b, doubled so that midranks of ties are whole numbers.
struct DoubledRanks {
  std::vector<std::int64_t> ranks;
  double tie_correction = 0;  ///< sum of t^3 - t over groups of t equal values
};

DoubledRanks doubled_ranks(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> values(a);
  values.insert(values.end(), b.begin(), b.end());
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t j) { return values[i] < values[j]; });
  DoubledRanks result;
  result.ranks.resize(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    for (std::size_t i = first; i <= last; ++i) {
      result.ranks[order[i]] = static_cast<std::int64_t>(first + last + 2);
    }
    const auto tied = static_cast<double>(last - first + 1);
    result.tie_correction += tied * tied * tied - tied;
    first = last + 1;
  }
  return result;
}

/// Probabilities of the sum of `chosen` of the ranks, drawn without replacement, by sum.
std::vector<double> rank_sum_distribution(const std::vector<std::int64_t>& ranks,
                                          std::size_t chosen) {
  const std::int64_t most = std::accumulate(ranks.begin(), ranks.end(), std::int64_t{0});
  const auto sums = static_cast<std::size_t>(most) + 1;
  // ways[k][s]: of the ranks seen so far, the ways to choose k with sum s, as a share of all.
  std::vector<std::vector<double>> ways(chosen + 1, std::vector<double>(sums, 0.0));
  ways[0][0] = 1;
  std::size_t seen = 0;
  for (const std::int64_t rank : ranks) {
    ++seen;
    const auto step = static_cast<std::size_t>(rank);
    for (std::size_t k = std::min(seen, chosen); k > 0; --k) {
      for (std::size_t s = sums; s-- > step;) ways[k][s] += ways[k - 1][s - step];
    }
  }
  std::vector<double>& counts = ways[chosen];
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  for (double& count : counts) count /= all;
  return counts;
}

double exact_p(const std::vector<std::int64_t>& ranks, std::size_t n, std::int64_t observed) {
  const std::vector<double> distribution = rank_sum_distribution(ranks, n);
  // Twice the mean is a whole number: 2 n (total + ...) compared without rounding.
  const std::int64_t total = std::accumulate(ranks.begin(), ranks.end(), std::int64_t{0});
  const auto size = static_cast<std::int64_t>(ranks.size());
  const auto distance = [&](std::int64_t sum) {
    return std::abs(sum * size - total * static_cast<std::int64_t>(n));
  };
  double p = 0;
  for (std::size_t sum = 0; sum < distribution.size(); ++sum) {
    if (distance(static_cast<std::int64_t>(sum)) >= distance(observed)) p += distribution[sum];
  }
  return std::min(p, 1.0);
}

double approximate_p(const DoubledRanks& ranks, double n, double m, double rank_sum) {
  const double size = n + m;
  const double mean = n * (size + 1) / 2;
  const double variance = n * m / 12 * ((size + 1) - ranks.tie_correction / (size * (size - 1)));
  if (variance <= 0) return 1;
  const double distance = std::max(0.0, std::abs(rank_sum - mean) - 0.5);
  return std::erfc(distance / std::sqrt(2 * variance));
}

/// The largest c for which P(U < c) <= tail, with U the Mann-Whitney statistic without ties.
std::int64_t critical_count(std::size_t n, std::size_t m, double tail) {
  std::int64_t count = 0;
  if (n + m <= kLargestExact) {
    std::vector<std::int64_t> ranks(n + m);
    std::iota(ranks.begin(), ranks.end(), std::int64_t{1});
    const std::vector<double> distribution = rank_sum_distribution(ranks, n);
    const std::size_t least = n * (n + 1) / 2;
    double below = 0;
    while (least + static_cast<std::size_t>(count) < distribution.size()) {
      below += distribution[least + static_cast<std::size_t>(count)];
      if (below > tail) break;
      ++count;
    }
    return count;
  }
  const auto product = static_cast<double>(n * m);
  const double deviation = std::sqrt(product * static_cast<double>(n + m + 1) / 12);
  double low = 0;  // of the standard normal's quantile, by bisection of its tail
  double high = 40;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(middle / std::sqrt(2.0)) > tail ? low : high) = middle;
  }
  return std::max<std::int64_t>(
      0, static_cast<std::int64_t>(std::floor(product / 2 - high * deviation)));
}

}  // namespace

double mann_whitney_p(const std::vector<double>& a, const std::vector<double>& b) {
  require(!a.empty() && !b.empty(), "a rank test needs values on both sides");
  const DoubledRanks ranks = doubled_ranks(a, b);
  const auto n = static_cast<std::ptrdiff_t>(a.size());
  const std::int64_t observed =
      std::accumulate(ranks.ranks.begin(), ranks.ranks.begin() + n, std::int64_t{0});
  if (a.size() + b.size() <= kLargestExact) return exact_p(ranks.ranks, a.size(), observed);
  return approximate_p(ranks, static_cast<double>(a.size()), static_cast<double>(b.size()),
                       static_cast<double>(observed) / 2);
}

double least_mann_whitney_p(std::size_t n, std::size_t m) {
  double log_choices = 0;
  for (std::size_t i = 1; i <= n; ++i) {
    log_choices += std::log(static_cast<double>(m + i)) - std::log(static_cast<double>(i));
  }
  return std::min(1.0, 2 * std::exp(-log_choices));
}

std::size_t least_sample_size(double alpha) {
  std::size_t n = 1;
  // A hair above alpha is alpha: the logarithms round.
  while (least_mann_whitney_p(n, n) > alpha * (1 + 1e-12)) ++n;
  return n;
}

Shift hodges_lehmann_shift(const std::vector<double>& a, const std::vector<double>& b,
                           double confidence) {
  require(!a.empty() && !b.empty(), "a shift needs values on both sides");
  std::vector<double> differences;
  differences.reserve(a.size() * b.size());
  for (const double x : a) {
    for (const double y : b) differences.push_back(y - x);
  }
  std::sort(differences.begin(), differences.end());
  const std::size_t count = differences.size();
  Shift shift;
  shift.estimate = (differences[(count - 1) / 2] + differences[count / 2]) / 2;
  const std::int64_t critical = critical_count(a.size(), b.size(), (1 - confidence) / 2);
  if (critical == 0) {
    shift.low = -std::numeric_limits<double>::infinity();
    shift.high = std::numeric_limits<double>::infinity();
  } else {
    shift.low = differences[static_cast<std::size_t>(critical) - 1];
    shift.high = differences[count - static_cast<std::size_t>(critical)];
  }
  return shift;
}

std::vector<double> holm_adjusted(const std::vector<double>& p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t j) { return p_values[i] < p_values[j]; });
  std::vector<double> adjusted(p_values.size());
  double least = 0;
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    const double factor = static_cast<double>(order.size() - rank);
    least = std::max(least, std::min(1.0, factor * p_values[order[rank]]));
    adjusted[order[rank]] = least;
  }
  return adjusted;
}

}  // namespace trainbench
