#include "common/report/profile_table.h"

#include <algorithm>
#include <vector>

#include "common/report/numbers.h"
#include "common/report/text_table.h"

namespace trainbench {
namespace {

using Json = nlohmann::ordered_json;

double number(const Json& operation, const char* key) { return operation.value(key, 0.0); }

std::string rate(double amount, double seconds, const std::string& unit) {
  return amount > 0 && seconds > 0 ? si(amount / seconds, unit) : "";
}

std::string table_of(const CaseResult& result, const Json& profile) {
  std::vector<Json> operations(profile.begin(), profile.end());
  double step = 0;
  for (const Json& operation : operations) step += number(operation, "seconds");
  std::stable_sort(operations.begin(), operations.end(), [](const Json& a, const Json& b) {
    return number(a, "seconds") > number(b, "seconds");
  });

  using Align = TextTable::Align;
  TextTable table({{"phase", Align::left},
                   {"operation", Align::left},
                   {"calls"},
                   {"time"},
                   {"share"},
                   {"FLOP/s"},
                   {"B/s"}});
  for (const Json& operation : operations) {
    const double seconds = number(operation, "seconds");
    table.add({operation.value("phase", ""), operation.value("operation", ""),
               significant(number(operation, "calls"), 4), seconds_text(seconds),
               percent_text(seconds / step), rate(number(operation, "flops"), seconds, ""),
               rate(number(operation, "bytes"), seconds, "")});
  }
  return "\n" + result.id.full_name() + ": operations of a step, each waited for; " +
         seconds_text(step) + " in all\n" + table.text();
}

}  // namespace

std::string profile_tables(const Report& report) {
  std::string text;
  for (const CaseResult& result : report.results) {
    if (!result.details.is_object() || !result.details.contains("profile")) continue;
    text += table_of(result, result.details["profile"]);
  }
  return text;
}

}  // namespace trainbench
