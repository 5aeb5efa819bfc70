#include "bench/commands/predict_plan.h"

#include <array>
#include <cmath>
#include <map>

#include "common/core/error.h"
#include "common/report/numbers.h"
#include "common/report/text_table.h"

namespace trainbench {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kHour = 3600;
constexpr double kDay = 24 * kHour;

/// How such models are trained on a device: in the first of these it has a rate for.
const Precision& plan_precision(const DeviceSpec& device) {
  static constexpr std::array kWanted{kBf16, kFp16, kFp32};
  for (const Precision& precision : kWanted) {
    try {
      device.peak(precision);
      return precision;
    } catch (const Unsupported&) {  // the next one
    }
  }
  throw Unsupported(device.name + " has no rate that keeps sums in fp32");
}

/// Seconds that one device needs for a token, an update's part in them.
double seconds_per_token(const LanguageModel& model, const LanguageModelPlan& plan,
                         const Roofs& roofs) {
  return roofline(plan.sequence, roofs).seconds / static_cast<double>(model.sequence) +
         roofline(plan.update, roofs).seconds / model.batch_tokens;
}

Json memory_json(const MemoryUse& memory) {
  Json json;
  for (const MemoryKind kind : kMemoryKinds) {
    if (memory[kind] > 0) json[std::string(name_of(kind))] = memory[kind];
  }
  json["total"] = memory.total();
  return json;
}

}  // namespace

const LanguageModel* planned_model(const std::string& name) {
  for (const LanguageModel& model : language_models()) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

Json plan_json(const LanguageModel& model, const PlanQuestion& question,
               const std::vector<PredictedDevice>& devices) {
  std::map<std::string_view, LanguageModelPlan> plans;
  const double tokens = question.tokens > 0 ? question.tokens : model.tokens;
  Json json{{"model", model.name},       {"source", model.source},
            {"parameters", 0},           {"sequence", model.sequence},
            {"tokens", tokens},          {"batch_tokens", model.batch_tokens},
            {"estimates", Json::array()}};
  for (const PredictedDevice& device : devices) {
    const Precision& precision = plan_precision(device.spec);
    auto [found, fresh] = plans.try_emplace(precision.name);
    if (fresh) found->second = plan_language_model(model, precision);
    const LanguageModelPlan& plan = found->second;
    json["parameters"] = plan.parameters;
    if (fresh) json["memory_bytes"][std::string(precision.name)] = memory_json(plan.memory);

    const double each =
        seconds_per_token(model, plan, roofs_of(device.spec, device.efficiencies, precision));
    const std::int64_t least = std::llround(
        std::ceil(static_cast<double>(plan.memory.total()) / device.spec.memory_bytes));
    const double seconds = each * tokens;
    Json row{{"device", device.spec.name},
             {"precision", precision.name},
             {"least_devices", least},
             {"tokens_per_second_each", 1 / each},
             {"device_hours", seconds / kHour},
             {"days_on_least", seconds / static_cast<double>(least) / kDay},
             {"energy_mwh", seconds / kHour * device.spec.power / 1e6}};
    if (question.devices > 0) {
      row["devices"] = question.devices;
      row["days"] = seconds / static_cast<double>(question.devices) / kDay;
      if (question.devices < least) row["reason"] = "does not fit: the least number is larger";
    }
    json["estimates"].push_back(row);
  }
  return json;
}

std::string plan_text(const Json& plan) {
  std::string text = plan.at("model").get<std::string>() + ", " +
                     si(plan.at("parameters").get<double>(), "") + " parameters, " +
                     si(plan.at("tokens").get<double>(), "") + " tokens: a plan alone\n";
  for (const auto& [precision, memory] : plan.at("memory_bytes").items()) {
    std::string kinds = "  memory, " + precision + ":";
    for (const auto& [kind, bytes] : memory.items()) {
      kinds += (kind == "parameters" ? " " : ", ") + kind + " " + bytes_text(bytes.get<double>());
    }
    text += wrapped(kinds, 100, "    ") + "\n";
  }
  const bool asked = plan.at("estimates").front().contains("days");
  std::vector<TextTable::Column> columns{{"device", TextTable::Align::left},
                                         {"type", TextTable::Align::left},
                                         {"least devices"},
                                         {"days on them"},
                                         {"tokens/s each"},
                                         {"device hours"},
                                         {"energy"}};
  if (asked) {
    columns.push_back({"days on " + plan.at("estimates").front().at("devices").dump()});
  }
  TextTable table(columns);
  for (const Json& row : plan.at("estimates")) {
    std::vector<std::string> cells{row.at("device"),
                                   row.at("precision"),
                                   row.at("least_devices").dump(),
                                   significant(row.at("days_on_least").get<double>(), 3),
                                   si(row.at("tokens_per_second_each").get<double>(), ""),
                                   si(row.at("device_hours").get<double>(), ""),
                                   significant(row.at("energy_mwh").get<double>(), 3) + " MWh"};
    if (asked) {
      cells.push_back(row.contains("reason") ? "no fit"
                                             : significant(row.at("days").get<double>(), 3));
    }
    table.add(cells);
  }
  return text + table.text("  ");
}

std::vector<std::string> plan_assumptions() {
  return {
      "plans: state, and the activations of one sequence, split evenly over the devices; their "
      "links cost nothing and all of them work all the time: the least number and the fewest "
      "days there can be",
      "plans: AdamW with fp32 state; device hours at each card's largest power"};
}

}  // namespace trainbench
