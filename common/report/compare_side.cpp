#include "common/report/compare_side.h"

#include <algorithm>

namespace trainbench {

const CaseResult* CaseSide::failed() const {
  const auto found = std::find_if(results.begin(), results.end(), [](const CaseResult* each) {
    return each->outcome() == Status::failed;
  });
  return found == results.end() ? nullptr : *found;
}

bool CaseSide::measured() const {
  return std::any_of(results.begin(), results.end(),
                     [](const CaseResult* each) { return each->outcome() == Status::ok; });
}

bool CaseSide::simulated() const {
  return std::any_of(results.begin(), results.end(),
                     [](const CaseResult* each) { return each->simulated; });
}

std::string CaseSide::reason() const {
  for (const CaseResult* each : results) {
    if (each->outcome() != Status::ok) return each->outcome_reason();
  }
  return "";
}

CaseTable::CaseTable(const std::vector<Report>& reports) {
  for (const Report& report : reports) {
    for (const CaseResult& result : report.results) {
      const std::string name = result.id.full_name();
      const auto [slot, fresh] = sides.try_emplace(name);
      if (fresh) names.push_back(name);
      slot->second.results.push_back(&result);
    }
  }
}

const CaseSide* CaseTable::find(const std::string& name) const {
  const auto found = sides.find(name);
  return found == sides.end() ? nullptr : &found->second;
}

}  // namespace trainbench
