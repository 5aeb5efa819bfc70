#pragma once

#include <memory>

#include "bench/harness/case.h"
#include "bench/harness/run_environment.h"

namespace trainbench {

/// The family `matmul`: one product C[m, n], summed over k, in the form of the case's name. "nt" is
/// a linear layer's forward pass, "nn" its data gradient and "tn" its weight gradient, which, as in
/// training, comes in the master dtype.
std::unique_ptr<PreparedCase> prepare_matmul(const SuiteCase& wanted, RunEnvironment& environment);

}  // namespace trainbench
