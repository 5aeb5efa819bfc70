#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/cost/roofline.h"
#include "common/models/workload_cost.h"

namespace trainbench {

/// A device to predict for, and what its architecture reaches.
struct PredictedDevice {
  DeviceSpec spec;
  Efficiencies efficiencies;
};

/// Looks up devices by name or file, all there are where none is named. Throws InputError.
std::vector<PredictedDevice> predicted_devices(const std::vector<std::string>& names);

/// One estimate; where there is none, `reason` says why.
struct StepPrediction {
  const PredictedDevice* device = nullptr;
  Precision precision = kFp32;
  Estimate estimate;
  std::string reason;
};

/// A step and what it is estimated to take on each device.
struct PredictedStep {
  StepProblem problem;
  StepCost cost;
  std::vector<StepPrediction> predictions;
};

/// Counts the step once and estimates it on each device.
PredictedStep predict_step(const StepProblem& problem, const std::vector<PredictedDevice>& devices);

/// What every estimate assumes, a sentence each.
std::vector<std::string> prediction_assumptions();

/// Steps of one workload and batch as a table, device by device.
std::string steps_table(const std::vector<PredictedStep>& steps);

/// The estimates of a step; `operations` adds its costs by operation.
nlohmann::ordered_json steps_json(const PredictedStep& step, bool operations);

/// `name` and the sizes that differ, as in a case's name: "gpt2/layers:48".
std::string problem_name(const StepProblem& problem);

}  // namespace trainbench
