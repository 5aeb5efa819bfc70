#include "common/report/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "common/report/rank_test.h"
#include "common/report/statistics.h"

namespace trainbench {
namespace {

/// Factor from the median absolute deviation to the standard deviation of a normal distribution.
constexpr double kNormalMad = 1.4826;

/// A case's results in all runs of a side.
struct CaseSide {
  std::vector<const CaseResult*> results;

  bool failed() const {
    return std::any_of(results.begin(), results.end(),
                       [](const CaseResult* each) { return each->status == Status::failed; });
  }
  bool measured() const {
    return std::any_of(results.begin(), results.end(), [](const CaseResult* each) {
      return each->status == Status::ok && !each->samples.empty();
    });
  }
};

/// The sides' cases by name, in order of first appearance.
struct CaseTable {
  std::vector<std::string> names;
  std::map<std::string, CaseSide> sides;

  explicit CaseTable(const std::vector<Report>& reports) {
    for (const Report& report : reports) {
      for (const CaseResult& result : report.results) {
        const std::string name = result.id.full_name();
        const auto [slot, fresh] = sides.try_emplace(name);
        if (fresh) names.push_back(name);
        slot->second.results.push_back(&result);
      }
    }
  }

  const CaseSide* find(const std::string& name) const {
    const auto found = sides.find(name);
    return found == sides.end() ? nullptr : &found->second;
  }
};

/// Independent values of a side: log times, one a process where there are several processes.
struct Units {
  std::vector<double> by_repetition;
  std::vector<double> by_process;
};

Units units_of(const CaseSide& side, const std::string& metric) {
  Units units;
  for (const CaseResult* result : side.results) {
    std::map<int, std::vector<double>> processes;
    for (const Sample& sample : result->samples) {
      const auto counter = sample.counters.find(metric);
      const double time = counter == sample.counters.end() ? sample.real_time : counter->second;
      if (time > 0) processes[sample.process].push_back(std::log(time));
    }
    for (auto& [process, times] : processes) {
      units.by_repetition.insert(units.by_repetition.end(), times.begin(), times.end());
      units.by_process.push_back(median(times));
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

std::string percent(double part) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %%", 100 * part);
  return text.data();
}

void add_note(CaseComparison& comparison, const std::string& note) {
  if (!comparison.note.empty()) comparison.note += "; ";
  comparison.note += note;
}

/// Everything of the time comparison but the verdict, which needs all cases' p-values.
void measure_times(CaseComparison& comparison, const CaseSide& base, const CaseSide& fresh,
                   const CompareOptions& options) {
  const Units base_units = units_of(base, options.metric);
  const Units new_units = units_of(fresh, options.metric);
  comparison.by_process = base_units.by_process.size() > 1 && new_units.by_process.size() > 1;
  const std::vector<double>& a =
      comparison.by_process ? base_units.by_process : base_units.by_repetition;
  const std::vector<double>& b =
      comparison.by_process ? new_units.by_process : new_units.by_repetition;
  if (a.empty() || b.empty()) return;
  comparison.base_units = a.size();
  comparison.new_units = b.size();
  comparison.p_value = mann_whitney_p(a, b);
  const Shift shift = hodges_lehmann_shift(a, b, options.confidence);
  comparison.ratio = std::exp(shift.estimate);
  comparison.low = std::exp(shift.low);
  comparison.high = std::exp(shift.high);
  comparison.base_noise = relative_noise(a);
  const auto own = options.per_case.find(comparison.name);
  const double limit = own == options.per_case.end() ? options.max_slowdown : own->second;
  comparison.threshold = std::max(limit, 2 * comparison.base_noise);
  if (comparison.threshold > limit) {
    add_note(comparison, "threshold raised from " + percent(limit) + " to " +
                             percent(comparison.threshold) + ", twice the base's noise");
  }
}

void judge_times(CaseComparison& comparison, const CompareOptions& options, std::size_t family) {
  const double upper = 1 + comparison.threshold;
  const bool significant = comparison.p_value <= options.alpha;
  if (significant && comparison.low > upper) {
    comparison.verdict = Verdict::slower;
  } else if (significant && comparison.high < 1 / upper) {
    comparison.verdict = Verdict::faster;
  } else if (comparison.low >= 1 / upper && comparison.high <= upper) {
    comparison.verdict = Verdict::same;
  } else {
    comparison.verdict = Verdict::ambiguous;
    // The strictest of Holm's steps is the first: alpha over the number of cases.
    const double strictest = options.alpha / static_cast<double>(family);
    if (least_mann_whitney_p(comparison.base_units, comparison.new_units) > strictest) {
      add_note(comparison,
               std::string("too few ") + (comparison.by_process ? "processes" : "repetitions") +
                   " to decide; " + std::to_string(least_sample_size(strictest)) + " a side could");
    }
  }
}

/// The largest value of a counter over a side's results and samples; NaN where it has none.
double largest(const CaseSide& side, const std::string& counter) {
  double most = std::nan("");
  for (const CaseResult* result : side.results) {
    const auto found = result->counters.find(counter);
    if (found != result->counters.end()) most = std::fmax(most, found->second);
    for (const Sample& sample : result->samples) {
      const auto each = sample.counters.find(counter);
      if (each != sample.counters.end()) most = std::fmax(most, each->second);
    }
  }
  return most;
}

std::string digits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.17g", value);
  return text.data();
}

/// Counters do not vary: growth beyond the bound is a regression whatever the times say.
void judge_counters(CaseComparison& comparison, const CaseSide& base, const CaseSide& fresh,
                    const CompareOptions& options) {
  const auto grown = [&](const std::string& counter, double bound) {
    const double before = largest(base, counter);
    const double after = largest(fresh, counter);
    if (std::isnan(before)) return;
    if (std::isnan(after)) {
      comparison.verdict = Verdict::slower;
      add_note(comparison, counter + " is gone");
    } else if (after > before + bound * std::abs(before)) {
      comparison.verdict = Verdict::slower;
      add_note(comparison, counter + " grew from " + digits(before) + " to " + digits(after));
    }
  };
  for (const MemoryKind kind : kMemoryKinds) {
    grown("memory_bytes_" + std::string(name_of(kind)), options.max_memory_growth);
  }
  for (const std::string& counter : options.exact) grown(counter, 0);
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  constexpr std::array<std::string_view, 7> names{"FASTER",  "SAME", "SLOWER", "AMBIGUOUS",
                                                  "MISSING", "NEW",  "FAILED"};
  return names[static_cast<std::size_t>(verdict)];
}

bool Comparison::any(Verdict verdict) const {
  return std::any_of(cases.begin(), cases.end(),
                     [&](const CaseComparison& each) { return each.verdict == verdict; });
}

Comparison compare(const std::vector<Report>& base, const std::vector<Report>& fresh,
                   const CompareOptions& options) {
  const CaseTable old_cases(base);
  const CaseTable new_cases(fresh);
  Comparison comparison;
  std::vector<std::size_t> timed;
  for (const std::string& name : old_cases.names) {
    CaseComparison each;
    each.name = name;
    const CaseSide& before = *old_cases.find(name);
    const CaseSide* after = new_cases.find(name);
    if (after != nullptr && after->failed()) {
      each.verdict = Verdict::failed;
      each.note = "failed on the new side";
    } else if (after == nullptr || (before.measured() && !after->measured())) {
      each.verdict = Verdict::missing;
      each.note = after == nullptr ? "not on the new side" : "not measured on the new side";
    } else if (!before.measured()) {
      each.verdict = after->measured() ? Verdict::added : Verdict::missing;
      each.note = "not measured on the base side";
    } else if (options.times) {
      measure_times(each, before, *after, options);
      timed.push_back(comparison.cases.size());
    } else {
      each.verdict = Verdict::same;
      judge_counters(each, before, *after, options);
    }
    comparison.cases.push_back(std::move(each));
  }
  for (const std::string& name : new_cases.names) {
    if (old_cases.find(name) != nullptr) continue;
    CaseComparison each;
    each.name = name;
    each.verdict = new_cases.find(name)->failed() ? Verdict::failed : Verdict::added;
    comparison.cases.push_back(std::move(each));
  }

  std::vector<double> p_values;
  for (const std::size_t index : timed) p_values.push_back(comparison.cases[index].p_value);
  const std::vector<double> adjusted = holm_adjusted(p_values);
  for (std::size_t i = 0; i < timed.size(); ++i) {
    CaseComparison& each = comparison.cases[timed[i]];
    each.p_value = adjusted[i];
    judge_times(each, options, timed.size());
    judge_counters(each, *old_cases.find(each.name), *new_cases.find(each.name), options);
  }
  return comparison;
}

}  // namespace trainbench
