#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/report/lint.h"

namespace trainbench::lint_rule {

/// A case and where it stands: in which report, at which place of the list.
struct Row {
  std::size_t place = 0;
  const Report* report = nullptr;
  const CaseResult* result = nullptr;

  const CaseId& id() const { return result->id; }
  std::string name() const { return id().full_name(); }
};
using Rows = std::vector<Row>;

/// Reports whose cases a reader sets against each other.
struct Pool {
  std::map<std::size_t, const Report*> reports;  ///< by place
  Rows rows;
};

using Places = std::vector<std::size_t>;

/// What one rule finds.
class Findings {
 public:
  Findings(const LintRule& rule, std::vector<Finding>& list) : rule_(rule), list_(list) {}
  void add(Places places, const std::string& where, const std::string& detail) {
    list_.push_back({rule_, std::move(places), where, detail});
  }

 private:
  const LintRule& rule_;
  std::vector<Finding>& list_;
};

/// A number of a report's context; 0 where it has none.
double number_at(const Report& report, const char* path);

/// Rules over what a reader pairs: the rows of both devices.
void mixed_precision(const Pool& pool, Findings& findings);
void different_batch(const Pool& pool, Findings& findings);
void partial_cpu(const Pool& pool, Findings& findings);
void transfers_left_out(const Pool& pool, Findings& findings);

/// Rules over single cases.
void cache_as_dram(const Pool& pool, Findings& findings);
void few_repetitions(const Pool& pool, Findings& findings);
void above_roofline(const Pool& pool, Findings& findings);
void simulated_speed(const Pool& pool, Findings& findings);
void unchecked(const Pool& pool, Findings& findings);

/// Rules over whole reports.
void debug_build(const Pool& pool, Findings& findings);
void partial_run(const Pool& pool, Findings& findings);
void planted_fault(const Pool& pool, Findings& findings);

}  // namespace trainbench::lint_rule
