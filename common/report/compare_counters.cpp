#include <array>
#include <cmath>
#include <cstdio>
#include <set>

#include "common/report/compare_side.h"
#include "common/report/numbers.h"

namespace trainbench {
namespace {

constexpr const char* kError = "max_relative_error";
/// The worst element's error as a part of the tolerance that its case states for it.
constexpr const char* kErrorOfTolerance = "error_of_tolerance";
constexpr std::string_view kMemoryPrefix = "memory_bytes";

/// A counter's worst value over a side's results and samples; NaN where it has none.
double worst(const CaseSide& side, const std::string& counter) {
  const bool higher = higher_is_better(counter);
  double found = std::nan("");
  const auto see = [&](const std::map<std::string, double>& counters) {
    const auto each = counters.find(counter);
    if (each == counters.end()) return;
    found = higher ? std::fmin(found, each->second) : std::fmax(found, each->second);
  };
  for (const CaseResult* result : side.results) {
    see(result->counters);
    for (const Sample& sample : result->samples) see(sample.counters);
  }
  return found;
}

std::set<std::string> memory_counters(const CaseSide& side) {
  std::set<std::string> names;
  for (const CaseResult* result : side.results) {
    for (const auto& [name, value] : result->counters) {
      if (name.starts_with(kMemoryPrefix)) names.insert(name);
    }
  }
  return names;
}

/// Every digit, so that a difference of one shows.
std::string digits(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.17g", value);
  return text.data();
}

class CounterJudge {
 public:
  CounterJudge(CaseComparison& comparison, const CaseSide& base, const CaseSide& fresh)
      : comparison_(comparison), base_(base), fresh_(fresh) {}

  /// `bound` is the part of the base's value by which the counter may get worse.
  void compare(const std::string& counter, double bound) {
    const double before = worst(base_, counter);
    const double after = worst(fresh_, counter);
    if (std::isnan(before)) return;
    const bool higher = higher_is_better(counter);
    const double room = bound * std::abs(before);
    if (std::isnan(after)) {
      regress(counter, counter + " is gone");
    } else if (higher ? after < before - room : after > before + room) {
      regress(counter, counter + (higher ? " fell from " : " grew from ") + digits(before) +
                           " to " + digits(after) +
                           (bound > 0 ? ", by more than " + percent_text(bound) : ""));
    }
  }

  /// The error may not leave the case's own tolerance, nor the base's beyond a bound. None at all
  /// in the base is luck of the sampled elements, which is no promise.
  void compare_error(double bound) {
    const double used = worst(fresh_, kErrorOfTolerance);
    if (used > 1) {
      regress("error", "the error is " + significant(used, 3) + " times its tolerance");
    }
    if (worst(base_, kError) > 0) compare(kError, bound);
  }

 private:
  void regress(const std::string& what, std::string note) {
    comparison_.verdict = Verdict::slower;
    comparison_.regressions.push_back(what);
    comparison_.notes.push_back(std::move(note));
  }

  CaseComparison& comparison_;
  const CaseSide& base_;
  const CaseSide& fresh_;
};

}  // namespace

void judge_counters(CaseComparison& comparison, const CaseSide& base, const CaseSide& fresh,
                    const CompareOptions& options) {
  CounterJudge judge(comparison, base, fresh);
  const std::set<std::string> exact(options.exact.begin(), options.exact.end());
  for (const std::string& counter : memory_counters(base)) {
    if (!exact.contains(counter)) judge.compare(counter, options.max_memory_growth);
  }
  if (!exact.contains(kError)) judge.compare_error(options.max_error_growth);
  for (const std::string& counter : exact) judge.compare(counter, 0);
}

}  // namespace trainbench
