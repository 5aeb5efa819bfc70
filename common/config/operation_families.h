#pragma once

#include <vector>

#include "common/config/families.h"

namespace trainbench {

/// The families whose iteration is one operation of the contract (common/backend.h).
std::vector<Family> operation_families();

}  // namespace trainbench
