#pragma once

#include <memory>

#include "bench/harness/case.h"
#include "bench/harness/run_environment.h"

namespace trainbench {

/// The family `scaling`, over CPU threads and against a whole GPU: "compute" is a product of square
/// matrices with `size` rows, "bandwidth" adds two arrays of `size` * 1024 numbers. More threads
/// than the CPU has are skipped.
std::unique_ptr<PreparedCase> prepare_scaling(const SuiteCase& wanted, RunEnvironment& environment);

}  // namespace trainbench
