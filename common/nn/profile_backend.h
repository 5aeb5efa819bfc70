#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/cost/cost_backend.h"
#include "common/forwarding_backend.h"
#include "common/nn/trainer.h"

namespace trainbench {

/// One distinct operation of a step, in one of its phases.
struct ProfiledOperation {
  StepPhase phase = StepPhase::forward;
  std::string operation;  ///< as CostBackend names it
  std::int64_t calls = 0;
  double seconds = 0;  ///< over all calls
  Cost cost;           ///< likewise
};

/// Times each operation that passes through it on another backend, with that device's own timer,
/// and counts what it costs. Every operation is waited for, so a step takes longer than it does
/// unwatched, by the launches that no longer overlap; shares of the sum are what it tells.
class ProfileBackend : public ForwardingBackend {
 public:
  explicit ProfileBackend(Backend& inner) : ForwardingBackend(inner), timer_(inner.make_timer()) {}

  /// What follows belongs to that phase.
  void enter(StepPhase phase) { phase_ = phase; }
  /// In the order of their first call.
  const std::vector<ProfiledOperation>& operations() const { return operations_; }

 protected:
  void call(const std::function<void(Backend&)>& operation) override;

 private:
  std::unique_ptr<DeviceTimer> timer_;
  CostBackend cost_;
  StepPhase phase_ = StepPhase::forward;
  std::vector<ProfiledOperation> operations_;
};

/// Profiles `steps` training steps on one batch, after one that is not.
std::vector<ProfiledOperation> profile_steps(Backend& backend, Trainer& trainer, const Batch& batch,
                                             int steps);

}  // namespace trainbench
