#include "common/nn/profile_backend.h"

#include <algorithm>

namespace trainbench {

void ProfileBackend::call(const std::function<void(Backend&)>& operation) {
  timer_->start();
  operation(inner_);
  timer_->stop();
  const double seconds = timer_->seconds();

  cost_.reset();
  operation(cost_);
  // What costs nothing, a few scalars, has no name there.
  const std::string name =
      cost_.operations().empty() ? "scalars" : cost_.operations().front().operation;
  auto known = std::find_if(operations_.begin(), operations_.end(), [&](const auto& each) {
    return each.phase == phase_ && each.operation == name;
  });
  if (known == operations_.end()) {
    operations_.push_back({.phase = phase_, .operation = name});
    known = operations_.end() - 1;
  }
  ++known->calls;
  known->seconds += seconds;
  known->cost += cost_.total();
}

std::vector<ProfiledOperation> profile_steps(Backend& backend, Trainer& trainer, const Batch& batch,
                                             int steps) {
  trainer.step(backend, batch);
  ProfileBackend profile(backend);
  trainer.watch_phases([&](StepPhase phase) { profile.enter(phase); });
  for (int i = 0; i < steps; ++i) trainer.step(profile, batch);
  trainer.watch_phases({});
  return profile.operations();
}

}  // namespace trainbench
