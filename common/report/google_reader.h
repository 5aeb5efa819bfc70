#pragma once

#include <string>

#include "common/report/result.h"

namespace trainbench {

/// A result file of either kind: ours, or one that Google Benchmark (1.5 to 1.9) wrote in another
/// program. There a case is known by its whole name; aggregates are ignored, as no test can be made
/// of means, and a file that has nothing else is refused. Throws InputError that names the file and
/// the path in it.
Report read_any_result_file(const std::string& path);

/// The same from the file's text.
Report read_any_result(const std::string& text, const std::string& file);

}  // namespace trainbench
