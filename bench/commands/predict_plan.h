#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/commands/predict_steps.h"
#include "common/models/language_model_plan.h"

namespace trainbench {

/// What is asked of a plan besides the model.
struct PlanQuestion {
  double tokens = 0;         ///< to train on; 0: as many as the model was trained on
  std::int64_t devices = 0;  ///< to train with, beside the least number; 0: none
};

/// The published model of that name; null where it is none.
const LanguageModel* planned_model(const std::string& name);

/// Memory by kind, and for each device the least number that holds it, device hours, days, energy.
nlohmann::ordered_json plan_json(const LanguageModel& model, const PlanQuestion& question,
                                 const std::vector<PredictedDevice>& devices);

/// The same for people.
std::string plan_text(const nlohmann::ordered_json& plan);

/// What a plan assumes besides what every estimate does, a sentence each.
std::vector<std::string> plan_assumptions();

}  // namespace trainbench
