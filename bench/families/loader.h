#pragma once

#include <memory>

#include "bench/harness/case.h"

namespace trainbench {

/// The loader alone: shuffled batches of a data set, gathered by the thread and sent to the device,
/// which computes nothing. The case's name is the kind of data ("images28", "text"), its precision
/// u8.
std::unique_ptr<PreparedCase> prepare_loader(const SuiteCase& wanted, RunEnvironment& environment);

}  // namespace trainbench
