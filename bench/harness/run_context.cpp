#include "bench/harness/run_context.h"

#include <algorithm>
#include <ctime>

#include "bench/build_info.h"
#include "bench/commands/device_json.h"
#include "bench/harness/warmup.h"
#include "common/check/check_backend.h"
#include "common/config/families.h"
#include "common/core/error.h"
#include "common/core/precision.h"
#include "common/models/workload.h"
#include "common/system/cpu_topology.h"
#include "common/system/machine.h"
#include "cpu/providers.h"

namespace trainbench {
namespace {

int default_threads(const std::string& device) { return device == "cpu" ? usable_cores() : 0; }

nlohmann::ordered_json provider_context() {
  nlohmann::ordered_json providers = nlohmann::ordered_json::object();
  for (const auto& [name, version] : cpu_providers()) providers[name] = version;
  return providers;
}

nlohmann::ordered_json warmup_context() {
  const WarmupRule rule;
  return {{"min_seconds", rule.min_seconds},
          {"max_seconds", rule.max_seconds},
          {"agreeing_samples", rule.agreeing},
          {"tolerance", rule.tolerance}};
}

nlohmann::ordered_json clock_context() {
  return {{"resident", "batches on the device; forward, loss, backward, update; no transfers"},
          {"end-to-end",
           "gathering the batch, its copy to the device, the step; the loss is read once a "
           "repetition"},
          {"wall_time", "host monotonic clock around all steps of a repetition, device finished"},
          {"gpu_time", "device events around the same steps"}};
}

nlohmann::ordered_json sampling_context() {
  return {
      {"stop",
       "a case ends with the repetitions asked for, each of as many iterations as last min_time "
       "by its warm-up; partial: before"},
      {"discarded",
       "the warm-up of a case and the untimed_iterations before each repetition; no repetition "
       "that was timed"}};
}

nlohmann::ordered_json parity_context() {
  return {{"reference",
           "plain loops in double over the operands that the device had, for a step of the timed "
           "case; a loader's first batch byte for byte"},
          {"elements", kCheckedElements},
          {"bound", "of each element, to first order in the roundoff, by dtype and sum length"},
          {"gate",
           "one element outside its bound fails the case before it is timed; error_of_tolerance "
           "is the worst element's part of its bound"}};
}

/// What each precision that a case names stands for.
nlohmann::ordered_json precision_context(const Suite& suite) {
  nlohmann::ordered_json precisions = nlohmann::ordered_json::object();
  for (const Precision& precision : kPrecisions) {
    const bool used =
        std::any_of(suite.cases.begin(), suite.cases.end(),
                    [&](const SuiteCase& each) { return each.id.precision == precision.name; });
    if (!used) continue;
    precisions[std::string(precision.name)] = {
        {"compute", name_of(precision.compute)},
        {"master", name_of(precision.master)},
        {"math", precision.math == MathMode::tf32 ? "tf32" : "exact"},
        {"loss_scaling", precision.loss_scaling}};
  }
  return precisions;
}

nlohmann::ordered_json initial_weights_context(const Suite& suite) {
  nlohmann::ordered_json context{{"random_numbers", "Philox4x32-10 by seed and index"}};
  for (const Workload& workload : workloads()) {
    const bool used =
        std::any_of(suite.cases.begin(), suite.cases.end(), [&](const SuiteCase& each) {
          return each.id.family == "train" && each.id.name == workload.name;
        });
    if (used) context[std::string(workload.name)] = workload.initialization;
  }
  return context;
}

}  // namespace

std::string default_output_stem() {
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%dT%H%M%S", std::localtime(&now));
  return "results/" + std::string(date) + "-" + host_name();
}

int threads_of(const CaseId& id) {
  return static_cast<int>(id.integer("threads", default_threads(id.device)));
}

std::vector<std::string> devices_of(const Suite& suite) {
  std::vector<std::string> devices;
  for (const std::string_view kind : device_kinds()) {
    for (const SuiteCase& each : suite.cases) {
      if (each.id.device != kind) continue;
      devices.emplace_back(kind);
      break;
    }
  }
  return devices;
}

nlohmann::ordered_json device_context(const Suite& suite, Devices& devices) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const std::string& device : devices_of(suite)) {
    try {
      nlohmann::ordered_json entry = device_json(devices.info(device));
      entry.update(devices.details(device));
      nlohmann::ordered_json state = devices.state(device);
      if (!state.is_null()) entry["state"]["before"] = std::move(state);
      const int threads = default_threads(device);
      if (threads > 0) entry["threads"] = threads;
      entry["peaks"] = peaks_json(devices.peaks(device, threads));
      list.push_back(std::move(entry));
    } catch (const Unsupported& error) {
      list.push_back({{"kind", device}, {"missing", error.what()}});
    }
  }
  return list;
}

void finish_device_context(nlohmann::ordered_json& list, Devices& devices) {
  for (nlohmann::ordered_json& entry : list) {
    if (entry.contains("missing")) continue;
    const auto device = entry.at("kind").get<std::string>();
    if (entry.contains("state")) entry["state"]["after"] = devices.state(device);
    entry["peaks"] = peaks_json(devices.peaks(device, entry.value("threads", 0)));
  }
}

nlohmann::ordered_json run_context(const Suite& suite, const RunSettings& settings,
                                   Devices& devices) {
  nlohmann::ordered_json context{
      {"suite", suite.name},
      {"build", build_info()},
      {"machine", machine_info()},
      {"devices", device_context(suite, devices)},
      {"cpu_providers", provider_context()},
      {"settings",
       {{"command", settings.command},
        {"seed", settings.seed},
        {"data", settings.data.empty() ? "default" : settings.data},
        {"repetitions", suite.repetitions},
        {"min_time", suite.min_time},
        {"cpu_provider", settings.cpu_provider},
        {"gpu_provider", settings.gpu_provider},
        {"interleaved", settings.interleaved},
        {"processes", settings.processes}}},
      {"warmup_rule", warmup_context()},
      {"sampling", sampling_context()},
      {"clock", clock_context()},
      {"precisions", precision_context(suite)},
      {"parity", parity_context()},
      {"synthetic_data",
       "images: a quarter their class's prototype, the rest noise; tokens: three in four follow "
       "from the one before; Philox4x32-10 by seed and index"},
      {"initial_weights", initial_weights_context(suite)},
      {"flop_model",
       "2MNK a product; no input gradient for the first layer; no recomputation; bytes: each "
       "operand of an operation once"},
      {"peak_source", settings.peaks
                          ? "measured at the start of the run: register-only loops, triad"
                          : "not measured: --no-peaks"}};
  if (!settings.test_fault.empty()) context["test_fault"] = settings.test_fault;
  return context;
}

}  // namespace trainbench
