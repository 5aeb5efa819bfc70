#include "common/report/rank_test.h"

#include <algorithm>
#include <bit>
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
  std::size_t reached = 0;  // the largest sum so far
  for (const std::int64_t rank : ranks) {
    const auto step = static_cast<std::size_t>(rank);
    for (std::size_t k = std::min(seen + 1, chosen); k > 0; --k) {
      const double* from = ways[k - 1].data();
      double* to = ways[k].data() + step;
      for (std::size_t s = 0; s <= reached; ++s) to[s] += from[s];
    }
    ++seen;
    reached += step;
  }
  std::vector<double>& counts = ways[chosen];
  const double all = std::accumulate(counts.begin(), counts.end(), 0.0);
  for (double& count : counts) count /= all;
  return counts;
}

/// The same of the ranks 0 to n + m - 1, of which n are chosen. The sizes before are kept: a
/// comparison's cases are mostly of one size.
const std::vector<double>& untied_distribution(std::size_t n, std::size_t m) {
  thread_local std::vector<double> distribution;
  thread_local std::pair<std::size_t, std::size_t> sizes{0, 0};
  if (sizes != std::pair{n, m}) {
    std::vector<std::int64_t> ranks(n + m);
    std::iota(ranks.begin(), ranks.end(), std::int64_t{0});
    distribution = rank_sum_distribution(ranks, n);
    sizes = {n, m};
  }
  return distribution;
}

/// Two-sided p of a rank sum of n of the ranks, whose distribution this is.
double p_of_sum(const std::vector<double>& distribution, const std::vector<std::int64_t>& ranks,
                std::size_t n, std::int64_t observed) {
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

double exact_p(DoubledRanks ranks, std::size_t n, std::int64_t observed) {
  // Origin and scale of the ranks do not matter; small ones make the distribution short.
  const std::int64_t least = *std::min_element(ranks.ranks.begin(), ranks.ranks.end());
  std::int64_t unit = 0;
  for (const std::int64_t rank : ranks.ranks) unit = std::gcd(unit, rank - least);
  if (unit == 0) return 1;  // all values are equal
  for (std::int64_t& rank : ranks.ranks) rank = (rank - least) / unit;
  observed = (observed - static_cast<std::int64_t>(n) * least) / unit;
  if (ranks.tie_correction > 0) {
    return p_of_sum(rank_sum_distribution(ranks.ranks, n), ranks.ranks, n, observed);
  }
  return p_of_sum(untied_distribution(n, ranks.ranks.size() - n), ranks.ranks, n, observed);
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
    const std::vector<double>& distribution = untied_distribution(n, m);
    const std::size_t least = n * (n - 1) / 2;
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

/// Whole numbers in the order of the doubles, both zeros being one.
std::int64_t order_of(double value) {
  const auto bits = std::bit_cast<std::int64_t>(value);
  return bits >= 0 ? bits : std::numeric_limits<std::int64_t>::min() - bits;
}

double value_of(std::int64_t order) {
  return std::bit_cast<double>(order >= 0 ? order
                                          : std::numeric_limits<std::int64_t>::min() - order);
}

/// All differences b_j - a_i in ascending order, none of which is stored: with 50,000 values a side
/// they would need 20 GB.
class Differences {
 public:
  Differences(std::vector<double> a, std::vector<double> b) : a_(std::move(a)), b_(std::move(b)) {
    std::sort(a_.begin(), a_.end());
    std::sort(b_.begin(), b_.end());
  }

  std::int64_t count() const { return static_cast<std::int64_t>(a_.size() * b_.size()); }

  /// The k-th from 0, by bisection over the doubles there are between the least and the largest.
  double operator[](std::int64_t k) const {
    std::int64_t low = order_of(b_.front() - a_.back());
    std::int64_t high = order_of(b_.back() - a_.front());
    while (low < high) {
      const std::int64_t middle = std::midpoint(low, high);  // below `high`
      if (at_most(value_of(middle)) > k) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return value_of(low);
  }

 private:
  std::int64_t at_most(double limit) const {
    std::int64_t count = 0;
    std::size_t first = 0;  // of the values of a that are near enough to this one of b
    for (const double value : b_) {
      while (first < a_.size() && value - a_[first] > limit) ++first;
      count += static_cast<std::int64_t>(a_.size() - first);
    }
    return count;
  }

  std::vector<double> a_;
  std::vector<double> b_;
};

}  // namespace

double mann_whitney_p(const std::vector<double>& a, const std::vector<double>& b) {
  require(!a.empty() && !b.empty(), "a rank test needs values on both sides");
  const DoubledRanks ranks = doubled_ranks(a, b);
  const auto n = static_cast<std::ptrdiff_t>(a.size());
  const std::int64_t observed =
      std::accumulate(ranks.ranks.begin(), ranks.ranks.begin() + n, std::int64_t{0});
  if (a.size() + b.size() <= kLargestExact) return exact_p(ranks, a.size(), observed);
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
  const Differences differences(a, b);
  const std::int64_t count = differences.count();
  Shift shift;
  shift.estimate = (differences[(count - 1) / 2] + differences[count / 2]) / 2;
  const std::int64_t critical = critical_count(a.size(), b.size(), (1 - confidence) / 2);
  if (critical == 0) {
    shift.low = -std::numeric_limits<double>::infinity();
    shift.high = std::numeric_limits<double>::infinity();
  } else {
    shift.low = differences[critical - 1];
    shift.high = differences[count - critical];
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
