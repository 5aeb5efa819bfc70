#pragma once

#include <string>

#include "common/report/result.h"

namespace trainbench {

/// A report for people: a table a workload, then what the GPU gains over the CPU and what was
/// skipped or failed. Plain text of at most 100 columns.
std::string to_table(const Report& report);

/// One line a case with the medians of its counters; a header first. Fields as RFC 4180 has them.
std::string to_csv(const Report& report);

}  // namespace trainbench
