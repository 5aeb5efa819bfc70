#pragma once

#include <memory>

#include "bench/harness/case.h"

namespace trainbench {

/// Copies of the key "kib" bytes from host to device (`h2d`), back (`d2h`) or both at once
/// (`both`), from host memory that is pinned or pageable (key "host"). No CPU has a partner of
/// them.
std::unique_ptr<PreparedCase> prepare_transfer(const SuiteCase& wanted,
                                               RunEnvironment& environment);

}  // namespace trainbench
