#pragma once

#include <memory>

#include "bench/harness/case.h"
#include "bench/harness/run_environment.h"

namespace trainbench {

/// The family `infer`: the forward pass of a workload's model, with nothing kept for a backward
/// pass. An iteration is one request: it ends when its logits are there, and the spread of the
/// requests is reported beside their mean.
std::unique_ptr<PreparedCase> prepare_infer(const SuiteCase& wanted, RunEnvironment& environment);

}  // namespace trainbench
