// The suite reader on arbitrary text: it returns cases with names of their own or throws
// InputError; nothing else.

#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

#include "common/config/json_file.h"
#include "common/config/suite.h"
#include "common/core/error.h"
#include "tests/fuzz/one_line.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const trainbench::Json document = trainbench::parse_json(text, "input");
    const trainbench::Suite suite = trainbench::read_suite(document, "input", {});
    std::set<std::string> names;
    for (const trainbench::SuiteCase& each : suite.cases) names.insert(each.id.full_name());
    if (suite.cases.empty() || names.size() != suite.cases.size()) std::abort();
  } catch (const trainbench::InputError& error) {
    trainbench::testing::require_one_line(error, "input");
  }
  return 0;
}
