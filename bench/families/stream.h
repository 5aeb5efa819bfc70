#pragma once

#include <memory>

#include "bench/harness/case.h"

namespace trainbench {

/// A kernel of STREAM over arrays that together take the key "kib", or that no cache holds. An
/// iteration is a pass over them.
std::unique_ptr<PreparedCase> prepare_stream(const SuiteCase& wanted, RunEnvironment& environment);

}  // namespace trainbench
