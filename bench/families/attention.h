#pragma once

#include <memory>

#include "bench/harness/case.h"
#include "bench/harness/run_environment.h"

namespace trainbench {

/// The family `attention`: the fused forward or backward pass of all heads of a transformer's
/// layer. Backward starts from what one forward pass left.
std::unique_ptr<PreparedCase> prepare_attention(const SuiteCase& wanted,
                                                RunEnvironment& environment);

}  // namespace trainbench
