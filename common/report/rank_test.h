#pragma once

#include <cstddef>
#include <vector>

namespace trainbench {

/// Rank statistics of two independent samples. Nothing is assumed of their distributions but that
/// the samples are independent: no normality, no equal variance of the noise.

/// Two-sided p-value of the Mann-Whitney test that `a` and `b` come from one distribution. Exact,
/// given the ties there are (the permutation distribution of the rank sum over midranks), up to 100
/// values in all; the normal approximation with tie and continuity correction beyond.
double mann_whitney_p(const std::vector<double>& a, const std::vector<double>& b);

/// The least p-value that samples of these sizes can give: 2 / C(n + m, n). A test at a smaller
/// alpha cannot come out, whatever was measured.
double least_mann_whitney_p(std::size_t n, std::size_t m);

/// The least n for which two samples of n can be told apart at `alpha`.
std::size_t least_sample_size(double alpha);

/// How far b lies above a: the median of all differences b_j - a_i (Hodges and Lehmann, 1963) and
/// the interval of shifts that the Mann-Whitney test at level 1 - confidence does not reject.
struct Shift {
  double estimate = 0;
  double low = 0;   ///< -inf where the samples are too small for this confidence
  double high = 0;  ///< +inf likewise
};
Shift hodges_lehmann_shift(const std::vector<double>& a, const std::vector<double>& b,
                           double confidence);

/// P-values adjusted for their number by Holm's step-down procedure: comparing them with alpha
/// keeps the chance of any false rejection in the family at most alpha. In the order given.
std::vector<double> holm_adjusted(const std::vector<double>& p_values);

}  // namespace trainbench
