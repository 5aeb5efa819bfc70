#pragma once

#include <string>

#include "common/config/json_file.h"
#include "common/report/result.h"

namespace trainbench {

/// The repetitions in a result file of Google Benchmark (1.5 to 1.9) that another program wrote. A
/// case is known by its whole name. Aggregates are ignored; a file that has nothing else is
/// refused, as no test can be made of means. Throws InputError that names the file and the path in
/// it.
Report read_google_benchmark(const Json& document, const std::string& file);

/// A result file of either kind: ours, or another program's.
Report read_any_result_file(const std::string& path);

}  // namespace trainbench
