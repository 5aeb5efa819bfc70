#include "common/report/lint.h"

#include <algorithm>
#include <array>

#include "common/report/case_values.h"
#include "common/report/comparability.h"
#include "common/report/lint_rules.h"

namespace trainbench {
namespace {

using lint_rule::Findings;
using lint_rule::Pool;

struct Rule {
  LintRule told;
  void (*find)(const Pool& pool, Findings& findings);
};

constexpr std::array kRules{
    Rule{{"mixed-precision", "the only pairing of a workload is of different precisions"},
         lint_rule::mixed_precision},
    Rule{{"different-batch", "the only pairing of a workload is of different batches"},
         lint_rule::different_batch},
    Rule{{"partial-cpu", "a part of the CPU stands for the whole beside a GPU"},
         lint_rule::partial_cpu},
    Rule{{"transfers-left-out",
          "a GPU is compared with batches that lie on it already, and no row says what their "
          "transfers cost"},
         lint_rule::transfers_left_out},
    Rule{{"debug-build", "the times are those of a debug or sanitized build"},
         lint_rule::debug_build},
    Rule{{"cache-as-dram", "a figure passes for the memory's, but a cache holds the arrays"},
         lint_rule::cache_as_dram},
    Rule{{"few-repetitions", "a time is no median of raw repetitions and may be the best of them"},
         lint_rule::few_repetitions},
    Rule{{"above-roofline", "a rate is above the peak measured on the same device"},
         lint_rule::above_roofline},
    Rule{{"simulated-speed", "the times of a simulation pass for a speed"},
         lint_rule::simulated_speed},
    Rule{{"partial-run", "a run was interrupted, so that its cases are not equally measured"},
         lint_rule::partial_run},
    Rule{{"unchecked", "a time stands for outputs that no check passed"}, lint_rule::unchecked},
    Rule{{"planted-fault", "TRAINBENCH_TEST_FAULT planted an effect in the results"},
         lint_rule::planted_fault},
};

bool has_both_devices(const Report& report) {
  const auto measured = [&](const char* device) {
    return std::any_of(report.results.begin(), report.results.end(), [&](const CaseResult& each) {
      return each.id.device == device && has_speed(each);
    });
  };
  return measured("cpu") && measured("gpu");
}

std::vector<Pool> pools_of(const std::vector<const Report*>& reports) {
  std::vector<Pool> pools;
  std::map<std::string, std::size_t> pool_of_machine;
  for (std::size_t place = 0; place < reports.size(); ++place) {
    const Report& report = *reports[place];
    std::size_t pool = pools.size();
    if (!has_both_devices(report)) {
      pool = pool_of_machine.emplace(machine_of(report), pool).first->second;
    }
    if (pool == pools.size()) pools.emplace_back();
    pools[pool].reports.emplace(place, &report);
    for (const CaseResult& result : report.results) {
      pools[pool].rows.push_back({place, &report, &result});
    }
  }
  return pools;
}

}  // namespace

std::vector<LintRule> lint_rules() {
  std::vector<LintRule> rules;
  for (const Rule& rule : kRules) rules.push_back(rule.told);
  return rules;
}

std::vector<Finding> lint(const std::vector<const Report*>& reports) {
  const std::vector<Pool> pools = pools_of(reports);
  std::vector<Finding> list;
  for (const Rule& rule : kRules) {
    Findings findings(rule.told, list);
    for (const Pool& pool : pools) rule.find(pool, findings);
  }
  return list;
}

}  // namespace trainbench
