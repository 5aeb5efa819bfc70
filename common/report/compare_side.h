#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/report/compare.h"

namespace trainbench {

/// A case's results in all runs of a side.
struct CaseSide {
  std::vector<const CaseResult*> results;

  /// The first that failed; null where none did.
  const CaseResult* failed() const;
  bool measured() const;
  bool simulated() const;
  /// Why it was not measured, of the first that says.
  std::string reason() const;
};

/// A side's cases by name, in order of first appearance.
struct CaseTable {
  std::vector<std::string> names;
  std::map<std::string, CaseSide> sides;

  explicit CaseTable(const std::vector<Report>& reports);
  /// Null where the side has no such case.
  const CaseSide* find(const std::string& name) const;
};

/// Judges what does not vary with the machine's mood: memory, error and the counters of
/// options.exact. What got worse makes the verdict `slower` and is noted.
void judge_counters(CaseComparison& comparison, const CaseSide& base, const CaseSide& fresh,
                    const CompareOptions& options);

}  // namespace trainbench
