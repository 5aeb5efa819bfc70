#pragma once

#include <memory>

#include "bench/harness/case.h"

namespace trainbench {

/// A training step of a workload: forward, loss, backward, update. Two boundaries: `resident`, with
/// the batches on the device already, and `end-to-end`, with loading and the copies to the device.
std::unique_ptr<PreparedCase> prepare_train(const SuiteCase& wanted, RunEnvironment& environment);

}  // namespace trainbench
