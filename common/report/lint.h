#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/report/result.h"

namespace trainbench {

/// One way in which results fool their reader.
struct LintRule {
  std::string_view id;        ///< "mixed-precision"
  std::string_view sentence;  ///< what is wrong with results that it finds
};

/// Every rule, in the order in which findings are told.
std::vector<LintRule> lint_rules();

/// What a rule found. Names are those of the reports, where anything may stand: whoever prints or
/// embeds them makes them safe.
struct Finding {
  LintRule rule;
  std::vector<std::size_t> reports;  ///< places in the list that was given
  std::string where;                 ///< a case or a workload; empty: the whole report
  std::string detail;
};

/// What in these reports would fool a reader. A report with both devices is judged by itself; those
/// that have one of them are taken together with the others of their machine. What is skipped,
/// failed or simulated, and says so, fools nobody.
std::vector<Finding> lint(const std::vector<const Report*>& reports);

}  // namespace trainbench
