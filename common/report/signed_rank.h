#pragma once

#include <cstddef>
#include <vector>

#include "common/report/rank_test.h"

namespace trainbench {

/// Rank statistics of pairs, by their differences: two measurements that were taken next to each
/// other share what the machine did to both, and their difference does not have it. Where neither
/// of a pair is favoured (their order is drawn by lot), equal things give differences that are as
/// likely positive as negative, whatever their distribution: that is all that is assumed.

/// Two-sided p-value of Wilcoxon's signed-rank test that the differences are symmetric around zero.
/// Exact, given the ties there are: the distribution of the rank sum over all signs, with midranks.
/// Differences of zero are left out.
double signed_rank_p(const std::vector<double>& differences);

/// The least p-value that so many pairs can give: 2 / 2^n.
double least_signed_rank_p(std::size_t pairs);

/// The least number of pairs that can be told apart at `alpha`.
std::size_t least_pairs(double alpha);

/// The centre of the differences: the median of the means of all pairs of them, each with itself
/// too (Walsh averages; Hodges and Lehmann, 1963), and the interval of centres that the signed-rank
/// test at level 1 - confidence does not reject.
Shift pseudo_median(const std::vector<double>& differences, double confidence);

}  // namespace trainbench
