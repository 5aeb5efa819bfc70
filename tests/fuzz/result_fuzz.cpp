// The reader of result files on arbitrary text: it throws InputError, or returns a report that can
// be shown and, written, is read as the same; nothing else.

#include <cstdint>
#include <cstdlib>
#include <string>

#include "common/config/json_file.h"
#include "common/core/error.h"
#include "common/report/json.h"
#include "common/report/table.h"
#include "tests/fuzz/one_line.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  trainbench::Report report;
  try {
    report = trainbench::read_report(trainbench::parse_json(text, "input"), "input");
  } catch (const trainbench::InputError& error) {
    trainbench::testing::require_one_line(error, "input");
    return 0;
  }
  trainbench::to_table(report);
  trainbench::to_csv(report);
  const std::string written = trainbench::to_json(report);
  const trainbench::Report again =
      trainbench::read_report(trainbench::parse_json(written, "written"), "written");
  if (trainbench::to_json(again) != written) std::abort();
  return 0;
}
