#pragma once

#include <string>

#include "common/config/json_file.h"
#include "common/report/result.h"

namespace trainbench {

/// Version of the "trainbench" objects in a result file; a change that old readers misread raises
/// it.
inline constexpr int kSchemaVersion = 1;

/// A report as JSON: what Google Benchmark 1.7.1 would write, with a "trainbench" object in the
/// context and in each row. A number that is not finite is left out and named under "omitted".
Json to_json_document(const Report& report);

/// The same as text, with a newline at the end.
std::string to_json(const Report& report);

/// The report in the text of a result file; aggregates are left out, as they follow from the
/// repetitions. Throws InputError that names the file and the path in it.
Report read_report(const std::string& text, const std::string& file);

Report read_report_file(const std::string& path);

}  // namespace trainbench
