#include "bench/commands/list.h"

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "common/config/families.h"
#include "common/config/suite.h"
#include "common/data/dataset.h"
#include "common/models/workload.h"

namespace trainbench {
namespace {

struct ListOptions {
  std::string suite;
  std::string filter;
  bool json = false;
  bool workloads = false;
};

nlohmann::ordered_json workload_json(const Workload& workload) {
  nlohmann::ordered_json row{{"description", workload.description},
                             {"sizes", workload.sizes},
                             {"data", workload.dataset},
                             {"data_source", default_source(workload.dataset)},
                             {"batch", workload.default_batch},
                             {"learning_rate", workload.learning_rate}};
  if (const auto* sgd = std::get_if<SgdOptions>(&workload.optimizer)) {
    row["optimizer"] = "sgd";
    row["momentum"] = sgd->momentum;
    row["weight_decay"] = sgd->weight_decay;
  } else {
    const auto& adam = std::get<AdamOptions>(workload.optimizer);
    row["optimizer"] = "adamw";
    row["beta1"] = adam.beta1;
    row["beta2"] = adam.beta2;
    row["epsilon"] = adam.epsilon;
    row["weight_decay"] = adam.weight_decay;
  }
  row["gradient_clip"] = workload.gradient_clip;
  row["input_scale"] = workload.input_scale;
  row["input_shift"] = workload.input_shift;
  row["initialization"] = workload.initialization;
  return row;
}

int list_workloads(bool json) {
  nlohmann::ordered_json table;
  for (const Workload& workload : workloads()) {
    table[std::string(workload.name)] = workload_json(workload);
  }
  if (json) {
    std::printf("%s\n", table.dump(2).c_str());
    return 0;
  }
  for (const auto& [name, row] : table.items()) {
    std::printf("%s\n", name.c_str());
    for (const auto& [key, value] : row.items()) {
      std::printf("  %-15s %s\n", key.c_str(),
                  value.is_string() ? value.get<std::string>().c_str() : value.dump().c_str());
    }
  }
  return 0;
}

int list_cases(const ListOptions& options) {
  const std::vector<std::string> suites =
      options.suite.empty() ? suite_names() : std::vector<std::string>{options.suite};
  std::vector<std::string> names;
  std::set<std::string> families;
  std::set<std::string> seen;
  for (const std::string& suite : suites) {
    SuiteOverrides overrides;
    // Over all suites the filter selects from their union: one of them may have no match.
    if (!options.suite.empty()) overrides.filter = options.filter;
    for (const SuiteCase& each : load_suite(suite, overrides).cases) {
      if (!seen.insert(each.id.full_name()).second) continue;
      names.push_back(each.id.full_name());
      families.insert(each.id.family);
    }
  }
  if (options.suite.empty()) names = keep_matching(std::move(names), options.filter);

  if (options.json) {
    nlohmann::ordered_json document{{"cases", names}};
    for (const std::string& family : families) {
      document["claims"][family] = family_by_name(family).claim;
    }
    std::printf("%s\n", document.dump(2).c_str());
    return 0;
  }
  for (const std::string& family : families) {
    std::printf("# %s: %s\n", family.c_str(), std::string(family_by_name(family).claim).c_str());
  }
  for (const std::string& name : names) std::printf("%s\n", name.c_str());
  return 0;
}

}  // namespace

void register_list(CLI::App& app, std::function<int()>& action) {
  CLI::App* command = app.add_subcommand("list", "Print the names of the cases");
  auto options = std::make_shared<ListOptions>();
  command->add_option("suite", options->suite, "A suite or its file; all suites if left out");
  command->add_option("--filter", options->filter, "Keep the names this regular expression finds");
  command->add_flag("--json", options->json, "Print JSON");
  command->add_flag("--workloads", options->workloads,
                    "Print what training each workload means: optimizer, rates, initialization");
  command->callback([options, &action] {
    action = [options] {
      return options->workloads ? list_workloads(options->json) : list_cases(*options);
    };
  });
}

}  // namespace trainbench
