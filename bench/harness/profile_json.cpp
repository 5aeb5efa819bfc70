#include "bench/harness/profile_json.h"

namespace trainbench {
namespace {

const char* name_of(StepPhase phase) {
  switch (phase) {
    case StepPhase::forward:
      return "forward";
    case StepPhase::backward:
      return "backward";
    case StepPhase::update:
      return "update";
  }
  return "?";
}

}  // namespace

nlohmann::ordered_json to_json(const std::vector<ProfiledOperation>& profile, int steps) {
  auto operations = nlohmann::ordered_json::array();
  for (const ProfiledOperation& each : profile) {
    operations.push_back({{"phase", name_of(each.phase)},
                          {"operation", each.operation},
                          {"calls", static_cast<double>(each.calls) / steps},
                          {"seconds", each.seconds / steps},
                          {"flops", each.cost.flops / steps},
                          {"bytes", each.cost.bytes / steps}});
  }
  return operations;
}

}  // namespace trainbench
