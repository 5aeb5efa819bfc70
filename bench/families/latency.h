#pragma once

#include <memory>

#include "bench/harness/case.h"

namespace trainbench {

/// What a device takes for one thing after the other. `chase`: one thread's random walk through all
/// lines of the key "kib", or of more than any cache holds; an iteration is a round of it. `fma`:
/// dependent multiply-adds in the key "chains" of chains at once (default: 1).
std::unique_ptr<PreparedCase> prepare_latency(const SuiteCase& wanted, RunEnvironment& environment);

}  // namespace trainbench
