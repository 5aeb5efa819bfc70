#include "common/report/compare_output.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "common/config/json_file.h"
#include "common/report/numbers.h"
#include "common/report/text_table.h"

namespace trainbench {
namespace {

std::string percent_change(double ratio) {
  const double change = 100 * (ratio - 1);
  return (change >= 0 ? "+" : "-") + significant(std::abs(change), 3) + "%";
}

bool timed(const CaseComparison& each) { return each.ratio > 0; }

std::string interval(const CaseComparison& each) {
  if (!timed(each)) return "-";
  if (!std::isfinite(each.high)) return "any";
  return "[" + percent_change(each.low) + ", " + percent_change(each.high) + "]";
}

std::string units(const CaseComparison& each) {
  if (!timed(each)) return "-";
  return std::to_string(each.base_units) + "/" + std::to_string(each.new_units) +
         (each.by_process ? " processes" : "");
}

/// "2 SLOWER, 5 SAME": what stands first in every form.
std::string counts(const Comparison& comparison) {
  std::map<Verdict, int> number;
  for (const CaseComparison& each : comparison.cases) ++number[each.verdict];
  std::string text;
  for (const Verdict verdict :
       {Verdict::slower, Verdict::failed, Verdict::missing, Verdict::ambiguous, Verdict::faster,
        Verdict::same, Verdict::added}) {
    if (number[verdict] == 0) continue;
    if (!text.empty()) text += ", ";
    text += std::to_string(number[verdict]) + " " + std::string(name_of(verdict));
  }
  return text.empty() ? "no cases" : text;
}

std::string rule(const CompareHeading& heading) {
  const CompareOptions& options = heading.options;
  return "A change counts where the Mann-Whitney test finds it at " +
         significant(options.alpha, 3) + " over all cases and its " +
         significant(100 * options.confidence, 3) + "% interval lies beyond " +
         percent_text(options.max_slowdown) + ".";
}

/// `text` with each of the characters replaced.
std::string escaped(const std::string& text,
                    const std::vector<std::pair<char, const char*>>& replacements) {
  std::string result;
  for (const char c : text) {
    const auto found = std::find_if(replacements.begin(), replacements.end(),
                                    [c](const auto& each) { return each.first == c; });
    if (found == replacements.end()) {
      result += c;
    } else {
      result += found->second;
    }
  }
  return result;
}

std::string for_xml(const std::string& text) {
  return escaped(text, {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}});
}

std::string for_markdown(const std::string& text) {
  return escaped(text, {{'|', "\\|"}, {'<', "&lt;"}, {'\n', " "}});
}

/// As GitHub's workflow commands escape their message.
std::string for_github(const std::string& text) {
  return escaped(text, {{'%', "%25"}, {'\r', "%0D"}, {'\n', "%0A"}});
}

/// Everything of a case but its name and verdict, in words.
std::string sentence(const CaseComparison& each) {
  std::string text;
  if (timed(each)) {
    text = "time " + percent_change(each.ratio) + " " + interval(each) +
           ", p = " + significant(each.p_value, 2) + ", threshold " + percent_text(each.threshold);
  }
  if (!each.note.empty()) text += (text.empty() ? "" : "; ") + each.note;
  return text;
}

bool bad(Verdict verdict) { return verdict == Verdict::slower || verdict == Verdict::failed; }

}  // namespace

std::string compare_to_table(const Comparison& comparison, const CompareHeading& heading) {
  using Align = TextTable::Align;
  TextTable table({{"verdict", Align::left},
                   {"time"},
                   {"interval"},
                   {"p"},
                   {"n", Align::left},
                   {"case", Align::left}});
  std::string notes;
  for (const CaseComparison& each : comparison.cases) {
    table.add({std::string(name_of(each.verdict)), timed(each) ? percent_change(each.ratio) : "-",
               interval(each), timed(each) ? significant(each.p_value, 2) : "-", units(each),
               each.name});
    if (!each.note.empty()) notes += wrapped(each.name + ": " + each.note, 100, "  ") + "\n";
  }
  return heading.base + " -> " + heading.fresh + ": " + counts(comparison) + "\n\n" + table.text() +
         "\n" + notes + wrapped(rule(heading), 100, "") + "\n";
}

std::string compare_to_markdown(const Comparison& comparison, const CompareHeading& heading) {
  std::string text = "### trainbench: " + counts(comparison) + "\n\n`" +
                     for_markdown(heading.base) + "` → `" + for_markdown(heading.fresh) + "`\n\n" +
                     "| verdict | time | interval | p | n | case |\n|---|--:|--:|--:|---|---|\n";
  for (const CaseComparison& each : comparison.cases) {
    text += "| " + std::string(name_of(each.verdict)) + " | " +
            (timed(each) ? percent_change(each.ratio) : "-") + " | " + interval(each) + " | " +
            (timed(each) ? significant(each.p_value, 2) : "-") + " | " + units(each) + " | " +
            for_markdown(each.name);
    if (!each.note.empty()) text += "<br>" + for_markdown(each.note);
    text += " |\n";
  }
  return text + "\n" + rule(heading) + "\n";
}

std::string compare_to_json(const Comparison& comparison, const CompareHeading& heading) {
  Json cases = Json::array();
  for (const CaseComparison& each : comparison.cases) {
    Json row{{"name", each.name}, {"verdict", name_of(each.verdict)}};
    if (timed(each)) {
      row["ratio"] = each.ratio;
      // An interval that is unbounded, for too few values, is left out: JSON has no infinity.
      if (std::isfinite(each.high)) row["interval"] = {each.low, each.high};
      row["p_value"] = each.p_value;
      row["threshold"] = each.threshold;
      row["base_noise"] = each.base_noise;
      row["base_units"] = each.base_units;
      row["new_units"] = each.new_units;
      row["unit"] = each.by_process ? "process" : "repetition";
    }
    if (!each.note.empty()) row["note"] = each.note;
    cases.push_back(std::move(row));
  }
  const CompareOptions& options = heading.options;
  const Json document{{"base", heading.base},
                      {"new", heading.fresh},
                      {"alpha", options.alpha},
                      {"confidence", options.confidence},
                      {"max_slowdown", options.max_slowdown},
                      {"metric", options.metric},
                      {"cases", std::move(cases)}};
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string compare_to_junit(const Comparison& comparison, const CompareHeading& heading) {
  const auto number = [&](auto&& wanted) {
    return std::to_string(
        std::count_if(comparison.cases.begin(), comparison.cases.end(),
                      [&](const CaseComparison& each) { return wanted(each.verdict); }));
  };
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"trainbench " +
                     for_xml(heading.base + " -> " + heading.fresh) + "\" tests=\"" +
                     std::to_string(comparison.cases.size()) + "\" failures=\"" + number(bad) +
                     "\" skipped=\"" +
                     number([](Verdict verdict) { return verdict == Verdict::missing; }) + "\">\n";
  for (const CaseComparison& each : comparison.cases) {
    const std::string message = for_xml(std::string(name_of(each.verdict)) + ": " + sentence(each));
    text += "  <testcase classname=\"trainbench\" name=\"" + for_xml(each.name) + "\"";
    if (bad(each.verdict)) {
      text += "><failure message=\"" + message + "\"/></testcase>\n";
    } else if (each.verdict == Verdict::missing) {
      text += "><skipped message=\"" + message + "\"/></testcase>\n";
    } else {
      text += "><system-out>" + message + "</system-out></testcase>\n";
    }
  }
  return text + "</testsuite>\n";
}

std::string compare_to_github(const Comparison& comparison, const CompareHeading&) {
  std::string text;
  for (const CaseComparison& each : comparison.cases) {
    const char* level = bad(each.verdict) ? "error"
                        : each.verdict == Verdict::missing || each.verdict == Verdict::ambiguous
                            ? "warning"
                            : nullptr;
    if (level == nullptr) continue;
    text += std::string("::") + level + " title=trainbench " + std::string(name_of(each.verdict)) +
            "::" + for_github(each.name + ": " + sentence(each)) + "\n";
  }
  return text + "::notice title=trainbench::" + for_github(counts(comparison)) + "\n";
}

}  // namespace trainbench
