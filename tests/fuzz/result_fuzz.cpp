// The reader of result files on arbitrary text, ours or another program's: it throws InputError, or
// returns a report that can be shown, compared with itself and, ours written, is read as the same;
// nothing else.

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "common/config/json_file.h"
#include "common/core/error.h"
#include "common/report/comparability.h"
#include "common/report/compare.h"
#include "common/report/compare_output.h"
#include "common/report/google_reader.h"
#include "common/report/json.h"
#include "common/report/table.h"
#include "tests/fuzz/one_line.h"

namespace {

using trainbench::Report;
using Regressions = std::vector<std::string>;

/// Any case against itself: no test may trip over its values.
void compare_with_itself(const Report& report) {
  const std::vector<Report> side{report};
  const trainbench::Comparison comparison = trainbench::compare(side, side, {});
  const trainbench::CompareHeading heading{"input", "input", {}, {}};
  trainbench::compare_to_table(comparison, heading);
  trainbench::parse_json(trainbench::compare_to_json(comparison, heading), "output");
  if (!trainbench::differences({&report, &report}).empty()) std::abort();
  for (const trainbench::CaseComparison& each : comparison.cases) {
    if (each.verdict == trainbench::Verdict::slower &&
        !(each.regressions == Regressions{"error"})) {
      std::abort();
    }
  }
}

void read_as_any(const std::string& text) {
  Report report;
  try {
    report = trainbench::read_any_result(text, "input");
  } catch (const trainbench::InputError& error) {
    trainbench::testing::require_one_line(error, "input");
    return;
  }
  compare_with_itself(report);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  read_as_any(text);
  Report report;
  try {
    report = trainbench::read_report(text, "input");
  } catch (const trainbench::InputError& error) {
    trainbench::testing::require_one_line(error, "input");
    return 0;
  }
  trainbench::to_table(report);
  trainbench::to_csv(report);
  const std::string written = trainbench::to_json(report);
  if (trainbench::to_json(trainbench::read_report(written, "written")) != written) std::abort();
  return 0;
}
