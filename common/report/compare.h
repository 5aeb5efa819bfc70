#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/report/counters.h"
#include "common/report/result.h"

namespace trainbench {

/// What a comparison says of a case. `slower` stands for any regression; `regressions` says of
/// what.
enum class Verdict : std::uint8_t { faster, same, slower, ambiguous, missing, added, failed };

std::string_view name_of(Verdict verdict);

struct CompareOptions {
  double alpha = 0.01;                     ///< of all cases together, by Holm's correction
  double confidence = 0.95;                ///< of each interval
  double max_slowdown = 0.05;              ///< a change within this is no regression
  std::map<std::string, double> per_case;  ///< max_slowdown of single cases, by name
  std::string metric = kWallTime;          ///< what is compared: a sample's counter
  double max_memory_growth = 0.01;         ///< growth of any kind of memory that is none
  double max_error_growth = 1;             ///< the same of the error against the reference
  bool times = true;                       ///< false: counters alone are judged
  /// A side is one report, and samples of the same process number on both sides are one block's:
  /// they were measured next to each other, in an order drawn by lot.
  bool by_block = false;
  std::vector<std::string> exact;  ///< counters that may not get worse by a single digit
};

/// What is independent of what: repetitions, the processes that took several, or blocks, each of
/// which measured both sides.
enum class Unit : std::uint8_t { repetition, process, block };

std::string_view name_of(Unit unit);

/// One case on both sides. Ratios are new over base time, or base over new of a metric of which
/// more is better: above 1 is slower.
struct CaseComparison {
  std::string name;
  Verdict verdict = Verdict::ambiguous;
  double ratio = 0;  ///< Hodges-Lehmann estimate; 0 where times were not compared
  double low = 0;    ///< its interval
  double high = 0;
  double p_value = 1;     ///< adjusted for the number of cases
  double threshold = 0;   ///< slowdown that counts: the larger of the limit and twice the noise
  double base_noise = 0;  ///< robust relative deviation of the base's units; of a block's ratio
  std::size_t base_units = 0;
  std::size_t new_units = 0;
  Unit unit = Unit::repetition;
  std::vector<std::string> regressions;  ///< what got worse: the metric or counters
  std::vector<std::string> notes;        ///< in words
};

struct Comparison {
  std::vector<CaseComparison> cases;  ///< in the base's order, then what only the new side has
  std::vector<std::string> skipped;   ///< cases that neither side measured: they have no verdict

  bool any(Verdict verdict) const;
};

/// Compares two sides, each the results of one or more runs. Times are judged by one test: exact
/// Mann-Whitney on log times at `alpha` over all cases, with the Hodges-Lehmann interval that
/// belongs to it; a change counts where it is significant and its interval lies beyond the
/// threshold as a whole. Values of one process share placement, clocks and luck: where both sides
/// have several processes the median of each is one value. Of blocks, the ratio within each is one
/// value, which has nothing of what the machine did to the whole block, and the test is the exact
/// signed-rank test with its interval; their spread raises no threshold. Times of a simulated
/// device are not judged. Memory, error and the `exact` counters are judged beside the times,
/// whatever those say.
Comparison compare(const std::vector<Report>& base, const std::vector<Report>& fresh,
                   const CompareOptions& options);

}  // namespace trainbench
