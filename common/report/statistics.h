#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace trainbench {

/// The p-quantile of values in ascending order, between the order statistics by a straight line:
/// type 7 of Hyndman and Fan, "Sample quantiles in statistical packages", 1996; numpy's default.
double sorted_quantile(const std::vector<double>& sorted, double p);

double median(std::vector<double> values);
double mean(const std::vector<double>& values);
/// Of a sample: divides by n - 1. Zero for a single value.
double standard_deviation(const std::vector<double>& values);
/// Of positive values.
double geometric_mean(const std::vector<double>& values);

/// What is told of a sample. Values must not be empty, here and above.
struct Summary {
  std::size_t count = 0;
  double minimum = 0;
  double first_quartile = 0;
  double median = 0;
  double third_quartile = 0;
  double p95 = 0;
  double maximum = 0;
  double jitter =
      0;  ///< 1.4826 times the median distance from the median: sigma of a normal sample

  double iqr() const { return third_quartile - first_quartile; }
  /// Spread as a part of the median; 0 where that is 0.
  double relative_iqr() const { return median == 0 ? 0 : iqr() / median; }
};

Summary summarize(std::vector<double> values);

/// Where a statistic of the whole population lies with the probability `level`.
struct Interval {
  double low = 0;
  double high = 0;
  double level = 0;
};

/// The narrowest pair of order statistics that holds the population's median with at least
/// `level`, whatever the distribution (binomial, exact). Few values cannot promise that much: then
/// their extremes, with the level that those have.
Interval median_interval(std::vector<double> values, double level = 0.95);

/// Percentile bootstrap of median(numerator) / median(denominator): both samples are drawn anew,
/// with replacement, each on its own. The same values and seed give the same interval. Values are
/// positive.
Interval ratio_interval(const std::vector<double>& numerator,
                        const std::vector<double>& denominator, double level = 0.95,
                        std::uint64_t seed = 1);

}  // namespace trainbench
