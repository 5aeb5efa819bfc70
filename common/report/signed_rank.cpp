#include "common/report/signed_rank.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "common/core/error.h"

namespace trainbench {
namespace {

/// Ranks of the values' magnitudes, doubled so that midranks of ties are whole numbers.
std::vector<std::size_t> doubled_magnitude_ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto magnitude = [&](std::size_t i) { return std::abs(values[i]); };
  std::sort(order.begin(), order.end(),
            [&](std::size_t i, std::size_t j) { return magnitude(i) < magnitude(j); });
  std::vector<std::size_t> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && magnitude(order[last + 1]) == magnitude(order[first])) ++last;
    for (std::size_t i = first; i <= last; ++i) ranks[order[i]] = first + last + 2;
    first = last + 1;
  }
  return ranks;
}

/// Probabilities of the sum of the ranks that bear a plus sign, by sum, where each sign is a fair
/// coin's.
std::vector<double> signed_sum_distribution(const std::vector<std::size_t>& ranks) {
  std::vector<double> chance{1.0};
  for (const std::size_t rank : ranks) {
    chance.resize(chance.size() + rank, 0.0);
    for (std::size_t sum = chance.size(); sum-- > 0;) {
      chance[sum] = (chance[sum] + (sum >= rank ? chance[sum - rank] : 0)) / 2;
    }
  }
  return chance;
}

/// The largest c for which P(sum < c) <= tail, without ties.
std::size_t critical_sum(std::size_t pairs, double tail) {
  std::vector<std::size_t> ranks(pairs);
  std::iota(ranks.begin(), ranks.end(), std::size_t{1});
  std::size_t count = 0;
  double below = 0;
  for (const double chance : signed_sum_distribution(ranks)) {
    below += chance;
    if (below > tail) break;
    ++count;
  }
  return count;
}

}  // namespace

double signed_rank_p(const std::vector<double>& differences) {
  std::vector<double> values;
  std::copy_if(differences.begin(), differences.end(), std::back_inserter(values),
               [](double value) { return value != 0; });
  const std::vector<std::size_t> ranks = doubled_magnitude_ranks(values);
  std::int64_t positive = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > 0) positive += static_cast<std::int64_t>(ranks[i]);
  }
  const std::vector<double> chance = signed_sum_distribution(ranks);
  const auto most = static_cast<std::int64_t>(chance.size()) - 1;
  const std::int64_t observed = std::abs(2 * positive - most);
  double p = 0;
  for (std::int64_t sum = 0; sum <= most; ++sum) {
    if (std::abs(2 * sum - most) >= observed) p += chance[static_cast<std::size_t>(sum)];
  }
  return std::min(p, 1.0);
}

double least_signed_rank_p(std::size_t pairs) {
  return std::min(1.0, std::ldexp(1.0, 1 - static_cast<int>(pairs)));
}

std::size_t least_pairs(double alpha) {
  require(alpha > 0, "no number of pairs decides at an alpha of zero");
  std::size_t pairs = 1;
  while (least_signed_rank_p(pairs) > alpha) ++pairs;
  return pairs;
}

Shift pseudo_median(const std::vector<double>& differences, double confidence) {
  require(!differences.empty(), "a centre needs differences");
  const std::size_t pairs = differences.size();
  std::vector<double> means;
  means.reserve(pairs * (pairs + 1) / 2);
  for (std::size_t i = 0; i < pairs; ++i) {
    for (std::size_t j = i; j < pairs; ++j) means.push_back((differences[i] + differences[j]) / 2);
  }
  std::sort(means.begin(), means.end());
  const std::size_t count = means.size();
  Shift shift;
  shift.estimate = (means[(count - 1) / 2] + means[count / 2]) / 2;
  const std::size_t critical = critical_sum(pairs, (1 - confidence) / 2);
  if (critical == 0) {
    shift.low = -std::numeric_limits<double>::infinity();
    shift.high = std::numeric_limits<double>::infinity();
  } else {
    shift.low = means[critical - 1];
    shift.high = means[count - critical];
  }
  return shift;
}

}  // namespace trainbench
