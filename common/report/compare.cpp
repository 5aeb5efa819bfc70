#include "common/report/compare.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "common/config/spelling.h"
#include "common/report/compare_side.h"
#include "common/report/numbers.h"
#include "common/report/rank_test.h"
#include "common/report/signed_rank.h"
#include "common/report/statistics.h"

namespace trainbench {
namespace {

/// Factor from the median absolute deviation to the standard deviation of a normal distribution.
constexpr double kNormalMad = 1.4826;

/// Independent values of a side: logarithms, one a process where there are several processes.
struct Units {
  std::vector<double> by_repetition;
  std::vector<double> by_process;
  std::map<int, double> by_block;  ///< of a side that is one report, by process number
};

/// The metric of one repetition; 0 where it has none. Another program's repetitions have Google
/// Benchmark's real time, which is by the wall clock unless it says otherwise.
double value_of(const Sample& sample, const std::string& metric) {
  const auto counter = sample.counters.find(metric);
  if (counter != sample.counters.end()) return counter->second;
  return metric == kWallTime ? sample.real_time : 0;
}

Units units_of(const CaseSide& side, const std::string& metric) {
  const double sign = higher_is_better(metric) ? -1 : 1;
  Units units;
  for (const CaseResult* result : side.results) {
    std::map<int, std::vector<double>> processes;
    for (const Sample& sample : result->samples) {
      const double value = value_of(sample, metric);
      if (value > 0) processes[sample.process].push_back(sign * std::log(value));
    }
    for (auto& [process, values] : processes) {
      units.by_repetition.insert(units.by_repetition.end(), values.begin(), values.end());
      units.by_process.push_back(median(values));
      units.by_block[process] = units.by_process.back();
    }
  }
  return units;
}

double relative_noise(const std::vector<double>& log_times) {
  const double center = median(log_times);
  std::vector<double> deviations;
  for (const double value : log_times) deviations.push_back(std::abs(value - center));
  return kNormalMad * median(deviations);
}

double limit_of(const std::string& name, const CompareOptions& options) {
  const auto own = options.per_case.find(name);
  return own == options.per_case.end() ? options.max_slowdown : own->second;
}

/// The ratio of a difference of logarithms; what is beyond the numbers is the largest or least that
/// still has a percentage. Infinite is an interval without a bound alone.
double ratio_of(double difference) {
  constexpr double kMost = 690;
  return std::exp(std::isinf(difference) ? difference : std::clamp(difference, -kMost, kMost));
}

void set_shift(CaseComparison& comparison, const Shift& shift) {
  comparison.ratio = ratio_of(shift.estimate);
  comparison.low = ratio_of(shift.low);
  comparison.high = ratio_of(shift.high);
}

void measure_sides(CaseComparison& comparison, const std::vector<double>& base,
                   const std::vector<double>& fresh, double confidence) {
  comparison.base_units = base.size();
  comparison.new_units = fresh.size();
  comparison.p_value = mann_whitney_p(base, fresh);
  set_shift(comparison, hodges_lehmann_shift(base, fresh, confidence));
  comparison.base_noise = relative_noise(base);
  const double limit = comparison.threshold;
  comparison.threshold = std::max(limit, 2 * comparison.base_noise);
  if (comparison.threshold > limit) {
    comparison.notes.push_back("threshold raised from " + percent_text(limit) + " to " +
                               percent_text(comparison.threshold) + ", twice the base's noise");
  }
}

/// False where no block has both sides.
bool measure_blocks(CaseComparison& comparison, const std::map<int, double>& base,
                    const std::map<int, double>& fresh, double confidence) {
  std::vector<double> differences;
  for (const auto& [block, value] : base) {
    const auto other = fresh.find(block);
    if (other != fresh.end()) differences.push_back(other->second - value);
  }
  if (differences.empty()) return false;
  comparison.unit = Unit::block;
  comparison.base_units = differences.size();
  comparison.new_units = differences.size();
  comparison.p_value = signed_rank_p(differences);
  set_shift(comparison, pseudo_median(differences, confidence));
  comparison.base_noise = relative_noise(differences);
  return true;
}

/// Everything of the time comparison but the verdict, which needs all cases' p-values. False where
/// a side has no value of the metric.
bool measure_times(CaseComparison& comparison, const CaseSide& base, const CaseSide& fresh,
                   const CompareOptions& options) {
  comparison.threshold = limit_of(comparison.name, options);
  const Units base_units = units_of(base, options.metric);
  const Units new_units = units_of(fresh, options.metric);
  if (base_units.by_repetition.empty() || new_units.by_repetition.empty()) {
    comparison.notes.push_back(
        std::string(base_units.by_repetition.empty() ? "the base" : "the new side") + " has no " +
        options.metric + " above zero: it was not compared");
    return false;
  }
  if (options.by_block) {
    if (measure_blocks(comparison, base_units.by_block, new_units.by_block, options.confidence)) {
      return true;
    }
    comparison.notes.emplace_back("no block measured both sides");
    return false;
  }
  const bool several_base = base_units.by_process.size() > 1;
  const bool several_new = new_units.by_process.size() > 1;
  if (several_base && several_new) {
    comparison.unit = Unit::process;
    measure_sides(comparison, base_units.by_process, new_units.by_process, options.confidence);
    return true;
  }
  if (several_base != several_new) {
    comparison.notes.push_back(
        std::string(several_base ? "the new side" : "the base") +
        " is a single process, whose repetitions share placement, clocks and luck: a change may be "
        "the process's");
  }
  measure_sides(comparison, base_units.by_repetition, new_units.by_repetition, options.confidence);
  return true;
}

/// Says how many units could decide where these never could: the strictest of Holm's steps is the
/// first, alpha over the number of cases.
void note_too_few(CaseComparison& comparison, double strictest) {
  const bool blocks = comparison.unit == Unit::block;
  const double least = blocks ? least_signed_rank_p(comparison.base_units)
                              : least_mann_whitney_p(comparison.base_units, comparison.new_units);
  if (least <= strictest) return;
  const std::string units =
      std::string(name_of(comparison.unit)) + (comparison.unit == Unit::process ? "es" : "s");
  comparison.notes.push_back("too few " + units + " to decide; " +
                             (blocks ? std::to_string(least_pairs(strictest))
                                     : std::to_string(least_sample_size(strictest)) + " a side") +
                             " could");
}

/// `family` is the number of cases that are tested together.
void judge_times(CaseComparison& comparison, const CompareOptions& options, std::size_t family) {
  const double upper = 1 + comparison.threshold;
  const bool significant = comparison.p_value <= options.alpha;
  if (significant && comparison.low > upper) {
    comparison.verdict = Verdict::slower;
    comparison.regressions.push_back(options.metric);
  } else if (significant && comparison.high < 1 / upper) {
    comparison.verdict = Verdict::faster;
  } else if (comparison.low >= 1 / upper && comparison.high <= upper) {
    comparison.verdict = Verdict::same;
  } else {
    comparison.verdict = Verdict::ambiguous;
    note_too_few(comparison, options.alpha / static_cast<double>(family));
  }
}

std::string because(const std::string& what, const std::string& reason) {
  return reason.empty() ? what : what + ": " + printable(reason, reason.size());
}

/// One comparison of two sides; the cases first, then the verdicts that need all of them.
class SideComparison {
 public:
  SideComparison(const CaseTable& base, const CaseTable& fresh, const CompareOptions& options)
      : base_(base), fresh_(fresh), options_(options) {}

  Comparison compare() {
    for (const std::string& name : base_.names) add_old(name, base_.sides.at(name));
    for (const std::string& name : fresh_.names) {
      if (base_.find(name) == nullptr) add_new(name, fresh_.sides.at(name));
    }
    judge();
    return std::move(comparison_);
  }

 private:
  void add_old(const std::string& name, const CaseSide& before) {
    const CaseSide* after = fresh_.find(name);
    if (after == nullptr) {
      if (before.measured()) {
        add(name, Verdict::missing, "not on the new side");
      } else {
        comparison_.skipped.push_back(name);
      }
    } else if (after->failed() != nullptr) {
      add_failed(name, *after);
    } else if (!before.measured() && !after->measured()) {
      comparison_.skipped.push_back(name);
    } else if (!after->measured()) {
      add(name, Verdict::missing, because("not measured on the new side", after->reason()));
    } else if (!before.measured()) {
      add(name, Verdict::added, because("not measured on the base side", before.reason()));
    } else {
      add_both(name, before, *after);
    }
  }

  void add_both(const std::string& name, const CaseSide& before, const CaseSide& after) {
    CaseComparison& each = add(name, Verdict::same, "");
    const std::size_t index = comparison_.cases.size() - 1;
    if (options_.times && (before.simulated() || after.simulated())) {
      each.notes.push_back("simulated: its times are no speed, counters alone were judged");
      untimed_.push_back(index);
    } else if (!options_.times) {
      untimed_.push_back(index);
    } else if (measure_times(each, before, after, options_)) {
      timed_.push_back(index);
    } else {
      each.verdict = Verdict::ambiguous;
      untimed_.push_back(index);
    }
  }

  void add_new(const std::string& name, const CaseSide& side) {
    if (side.failed() != nullptr) {
      add_failed(name, side);
    } else if (side.measured()) {
      add(name, Verdict::added, "not on the base side");
    } else {
      comparison_.skipped.push_back(name);
    }
  }

  void add_failed(const std::string& name, const CaseSide& side) {
    add(name, Verdict::failed, because("failed on the new side", side.failed()->outcome_reason()));
  }

  CaseComparison& add(const std::string& name, Verdict verdict, const std::string& note) {
    CaseComparison each;
    each.name = name;
    each.verdict = verdict;
    if (!note.empty()) each.notes.push_back(note);
    return comparison_.cases.emplace_back(std::move(each));
  }

  void judge() {
    std::vector<double> p_values;
    for (const std::size_t index : timed_) p_values.push_back(comparison_.cases[index].p_value);
    const std::vector<double> adjusted = holm_adjusted(p_values);
    for (std::size_t i = 0; i < timed_.size(); ++i) {
      CaseComparison& each = comparison_.cases[timed_[i]];
      each.p_value = adjusted[i];
      judge_times(each, options_, timed_.size());
    }
    for (const auto* indices : {&timed_, &untimed_}) {
      for (const std::size_t index : *indices) {
        CaseComparison& each = comparison_.cases[index];
        judge_counters(each, *base_.find(each.name), *fresh_.find(each.name), options_);
      }
    }
  }

  const CaseTable& base_;
  const CaseTable& fresh_;
  const CompareOptions& options_;
  Comparison comparison_;
  std::vector<std::size_t> timed_;    // indices of the cases whose times are judged
  std::vector<std::size_t> untimed_;  // of those judged by counters alone
};

}  // namespace

std::string_view name_of(Verdict verdict) {
  constexpr std::array<std::string_view, 7> names{"FASTER",  "SAME", "SLOWER", "AMBIGUOUS",
                                                  "MISSING", "NEW",  "FAILED"};
  return names[static_cast<std::size_t>(verdict)];
}

std::string_view name_of(Unit unit) {
  constexpr std::array<std::string_view, 3> names{"repetition", "process", "block"};
  return names[static_cast<std::size_t>(unit)];
}

bool Comparison::any(Verdict verdict) const {
  return std::any_of(cases.begin(), cases.end(),
                     [&](const CaseComparison& each) { return each.verdict == verdict; });
}

Comparison compare(const std::vector<Report>& base, const std::vector<Report>& fresh,
                   const CompareOptions& options) {
  const CaseTable old_cases(base);
  const CaseTable new_cases(fresh);
  return SideComparison(old_cases, new_cases, options).compare();
}

}  // namespace trainbench
