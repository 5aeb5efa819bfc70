#pragma once

#include <string>

#include "common/report/result.h"

namespace trainbench {

/// The ok rows of a family that trains nothing, as one table with a column for each key and each
/// counter that a row has. `marks` gives the letters behind a row. Empty without rows.
std::string family_table(const Report& report, const std::string& family,
                         std::string (*marks)(const CaseResult&));

}  // namespace trainbench
