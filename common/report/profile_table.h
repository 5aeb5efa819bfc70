#pragma once

#include <string>

#include "common/report/result.h"

namespace trainbench {

/// For each row that `run --profile` measured, what the operations of its step took: a line each,
/// the longest first. Empty where there is no such row.
std::string profile_tables(const Report& report);

}  // namespace trainbench
