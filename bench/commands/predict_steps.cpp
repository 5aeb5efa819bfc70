#include "bench/commands/predict_steps.h"

#include <algorithm>
#include <cmath>

#include "common/core/error.h"
#include "common/report/numbers.h"
#include "common/report/text_table.h"

namespace trainbench {
namespace {

using Json = nlohmann::ordered_json;

/// What the time goes to in percent, largest first: "compute 80, memory 15, launches 5".
std::string shares(const Estimate& estimate) {
  std::vector<std::pair<double, std::string>> parts{{estimate.compute, "compute"},
                                                    {estimate.bandwidth, "memory"},
                                                    {estimate.overhead, "launches"}};
  std::sort(parts.rbegin(), parts.rend());
  std::string text;
  for (const auto& [seconds, name] : parts) {
    const double percent = std::round(100 * seconds / estimate.seconds);
    if (percent < 1) continue;
    text += (text.empty() ? "" : ", ") + name + " " + std::to_string(std::lround(percent));
  }
  return text;
}

double flops_share(const PredictedStep& step, const StepPrediction& prediction) {
  return step.cost.total.flops / prediction.estimate.seconds /
         prediction.device->spec.peak(prediction.precision).flops;
}

}  // namespace

std::vector<PredictedDevice> predicted_devices(const std::vector<std::string>& names) {
  const std::map<std::string, Efficiencies> efficiencies = read_efficiencies();
  std::vector<PredictedDevice> devices;
  for (const std::string& name : names.empty() ? device_names() : names) {
    PredictedDevice device{find_device(name), {}};
    const auto found = efficiencies.find(device.spec.architecture);
    if (found == efficiencies.end()) {
      throw InputError("prediction/efficiencies.json has no architecture " +
                       device.spec.architecture + ", which " + name + " is of");
    }
    device.efficiencies = found->second;
    devices.push_back(std::move(device));
  }
  return devices;
}

PredictedStep predict_step(const StepProblem& problem,
                           const std::vector<PredictedDevice>& devices) {
  PredictedStep step{problem, count_step(problem), {}};
  for (const PredictedDevice& device : devices) {
    StepPrediction prediction{&device, problem.precision, {}, ""};
    try {
      prediction.estimate = roofline(step.cost.operations,
                                     roofs_of(device.spec, device.efficiencies, problem.precision));
    } catch (const Unsupported& reason) {
      prediction.reason = reason.what();
    }
    step.predictions.push_back(std::move(prediction));
  }
  return step;
}

std::vector<std::string> prediction_assumptions() {
  return {
      "nothing here was measured: each time is a roofline estimate from rated peaks",
      "an operation takes the longer of FLOPs / (rated peak x efficiency) and bytes / (rated "
      "bandwidth x efficiency), and a fixed time beside; operations follow one another",
      "bytes are the least there can be: each operand is read or written once, caches keep nothing "
      "between operations",
      "efficiencies are one set an architecture, fitted on the measurements that "
      "configs/prediction/efficiencies.json names; ada's are all borrowed from other architectures",
      "one device; batches already lie on it; no communication, no recomputation",
      "a recurrent layer counts as one operation: that its steps wait for each other is not "
      "modelled",
      "memory is what the tensors hold; a driver's own and fragmentation are not counted",
  };
}

std::string problem_name(const StepProblem& problem) {
  std::string name(problem.workload->name);
  for (const auto& [size, value] : problem.sizes) {
    name += "/" + size + ":" + std::to_string(value);
  }
  return name;
}

std::string steps_table(const std::vector<PredictedStep>& steps) {
  using Align = TextTable::Align;
  TextTable table({{"device", Align::left},
                   {"type", Align::left},
                   {"est. time"},
                   {"samples/s"},
                   {"tokens/s"},
                   {"peak"},
                   {"memory"},
                   {" % of it goes to", Align::left}});
  std::string reasons;
  const std::size_t devices = steps.front().predictions.size();
  for (std::size_t i = 0; i < devices; ++i) {
    for (const PredictedStep& step : steps) {
      const StepPrediction& each = step.predictions[i];
      if (!each.reason.empty()) {
        reasons += "  none: " + each.reason + "\n";
        continue;
      }
      const double seconds = each.estimate.seconds;
      const auto memory = static_cast<double>(step.cost.memory.total());
      const bool fits = memory <= each.device->spec.memory_bytes;
      const std::string tokens =
          step.cost.tokens > 0 ? si(static_cast<double>(step.cost.tokens) / seconds, "") : "-";
      table.add({each.device->spec.name, std::string(each.precision.name), seconds_text(seconds),
                 si(static_cast<double>(step.cost.batch) / seconds, ""), tokens,
                 percent_text(flops_share(step, each)),
                 bytes_text(memory) + (fits ? "" : " (too much)"), " " + shares(each.estimate)});
    }
  }
  return table.text("  ") + reasons;
}

Json steps_json(const PredictedStep& step, bool operations) {
  const auto memory_json = [&] {
    Json memory;
    for (const MemoryKind kind : kMemoryKinds) {
      memory[std::string(name_of(kind))] = step.cost.memory[kind];
    }
    return memory;
  };
  Json json{{"workload", problem_name(step.problem)},
            {"precision", step.problem.precision.name},
            {"batch", step.cost.batch},
            {"tokens", step.cost.tokens},
            {"parameters", step.cost.parameters},
            {"flops", step.cost.total.flops},
            {"bytes", step.cost.total.bytes},
            {"memory_bytes", memory_json()}};
  for (const StepPrediction& each : step.predictions) {
    Json row{{"device", each.device->spec.name}};
    if (!each.reason.empty()) {
      row["reason"] = each.reason;
    } else {
      const double seconds = each.estimate.seconds;
      row["estimated_seconds"] = seconds;
      row["samples_per_second"] = static_cast<double>(step.cost.batch) / seconds;
      if (step.cost.tokens > 0) {
        row["tokens_per_second"] = static_cast<double>(step.cost.tokens) / seconds;
      }
      row["fraction_of_peak_flops"] = flops_share(step, each);
      row["seconds_by_limit"] = {{"compute", each.estimate.compute},
                                 {"memory", each.estimate.bandwidth},
                                 {"launches", each.estimate.overhead}};
      row["fits"] = static_cast<double>(step.cost.memory.total()) <= each.device->spec.memory_bytes;
    }
    json["estimates"].push_back(row);
  }
  if (!operations) return json;
  for (const OperationCost& each : step.cost.operations) {
    json["operations"].push_back({{"operation", each.operation},
                                  {"calls", each.calls},
                                  {"flops", each.cost.flops},
                                  {"bytes", each.cost.bytes}});
  }
  return json;
}

}  // namespace trainbench
