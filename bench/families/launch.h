#pragma once

#include <memory>

#include "bench/harness/case.h"

namespace trainbench {

/// What it costs to have work done that is none: kernels on a GPU, parallel regions on a CPU.
/// `empty`: one, waited for; `chain`: many in order, waited for once; `graph`: the same, recorded
/// and replayed; `barrier`: all threads wait for one another.
std::unique_ptr<PreparedCase> prepare_launch(const SuiteCase& wanted, RunEnvironment& environment);

}  // namespace trainbench
