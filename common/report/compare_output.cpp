#include "common/report/compare_output.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "common/config/json_file.h"
#include "common/config/spelling.h"
#include "common/report/escape.h"
#include "common/report/numbers.h"
#include "common/report/statistics.h"
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
  if (each.unit == Unit::block) return std::to_string(each.base_units) + " blocks";
  return std::to_string(each.base_units) + "/" + std::to_string(each.new_units) +
         (each.unit == Unit::process ? " processes" : "");
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

/// The geometric mean of the ratios; 0 where none was taken.
double mean_ratio(const Comparison& comparison, std::size_t* count = nullptr) {
  std::vector<double> ratios;
  for (const CaseComparison& each : comparison.cases) {
    if (timed(each)) ratios.push_back(each.ratio);
  }
  if (count != nullptr) *count = ratios.size();
  return ratios.empty() ? 0 : geometric_mean(ratios);
}

/// "gpu_time +1.20% in the geometric mean of 12 cases"; empty where no times were compared.
std::string mean_text(const Comparison& comparison, const CompareOptions& options) {
  std::size_t count = 0;
  const double ratio = mean_ratio(comparison, &count);
  if (count == 0) return "";
  return options.metric + " " + percent_change(ratio) + " in the geometric mean of " +
         std::to_string(count) + (count == 1 ? " case" : " cases");
}

std::string summary(const Comparison& comparison, const CompareHeading& heading) {
  const std::string mean = mean_text(comparison, heading.options);
  return counts(comparison) + (mean.empty() ? "" : "; " + mean);
}

/// How it was judged, a sentence each; then the remarks.
std::vector<std::string> explanations(const Comparison& comparison, const CompareHeading& heading) {
  const CompareOptions& options = heading.options;
  std::vector<std::string> lines;
  if (options.times) {
    lines.push_back("A change of " + options.metric + " counts where the " +
                    (options.by_block ? "signed-rank test of the blocks" : "Mann-Whitney test") +
                    " finds it at " + significant(options.alpha, 3) + " over all cases and its " +
                    significant(100 * options.confidence, 3) + "% interval lies beyond " +
                    percent_text(options.max_slowdown) +
                    (options.per_case.empty() ? "." : ", or the case's own limit.") +
                    (higher_is_better(options.metric) ? " More of it is better: + is worse." : ""));
  } else {
    lines.emplace_back("Times were not compared.");
  }
  lines.push_back("Memory may grow by " + percent_text(options.max_memory_growth) +
                  ", the error by " + percent_text(options.max_error_growth) +
                  " and up to its case's tolerance.");
  if (!options.exact.empty()) {
    std::string names;
    for (const std::string& name : options.exact) names += (names.empty() ? "" : ", ") + name;
    lines.push_back("To the last digit: " + names + ".");
  }
  if (!comparison.skipped.empty()) {
    lines.push_back("Measured on neither side: " + std::to_string(comparison.skipped.size()) +
                    (comparison.skipped.size() == 1 ? " case." : " cases."));
  }
  lines.insert(lines.end(), heading.remarks.begin(), heading.remarks.end());
  return lines;
}

/// In backticks, where nothing but a backtick has a meaning.
std::string markdown_code(const std::string& text) {
  return "`" + escaped(printable(text, text.size()), {{'`', "'"}}) + "`";
}

/// As GitHub's workflow commands escape their message.
std::string for_github(const std::string& text) {
  return escaped(text, {{'%', "%25"}, {'\r', "%0D"}, {'\n', "%0A"}});
}

std::string notes_of(const CaseComparison& each) {
  std::string text;
  for (const std::string& note : each.notes) text += (text.empty() ? "" : "; ") + note;
  return text;
}

/// Everything of a case but its name and verdict, in words.
std::string sentence(const CaseComparison& each, const CompareOptions& options) {
  std::string text;
  if (timed(each)) {
    text = options.metric + " " + percent_change(each.ratio) + " " + interval(each) +
           ", p = " + significant(each.p_value, 2) + ", threshold " + percent_text(each.threshold);
  }
  const std::string notes = notes_of(each);
  if (!notes.empty()) text += (text.empty() ? "" : "; ") + notes;
  return text;
}

bool bad(Verdict verdict) { return verdict == Verdict::slower || verdict == Verdict::failed; }

}  // namespace

std::string compare_to_table(const Comparison& comparison, const CompareHeading& heading) {
  using Align = TextTable::Align;
  TextTable table({{"verdict", Align::left},
                   {"change"},
                   {"interval"},
                   {"p"},
                   {"n", Align::left},
                   {"case", Align::left}});
  std::string notes;
  for (const CaseComparison& each : comparison.cases) {
    table.add({std::string(name_of(each.verdict)), timed(each) ? percent_change(each.ratio) : "-",
               interval(each), timed(each) ? significant(each.p_value, 2) : "-", units(each),
               each.name});
    if (!each.notes.empty()) notes += wrapped(each.name + ": " + notes_of(each), 100, "  ") + "\n";
  }
  for (const std::string& line : explanations(comparison, heading)) {
    notes += wrapped(line, 100, "  ") + "\n";
  }
  return wrapped(heading.base + " -> " + heading.fresh + ": " + summary(comparison, heading), 100,
                 "  ") +
         "\n\n" + table.text() + "\n" + notes;
}

std::string compare_to_markdown(const Comparison& comparison, const CompareHeading& heading) {
  std::string text = "### trainbench: " + summary(comparison, heading) + "\n\n" +
                     markdown_code(heading.base) + " → " + markdown_code(heading.fresh) + "\n\n" +
                     "| verdict | change | interval | p | n | case |\n|---|--:|--:|--:|---|---|\n";
  for (const CaseComparison& each : comparison.cases) {
    text += "| " + std::string(name_of(each.verdict)) + " | " +
            (timed(each) ? percent_change(each.ratio) : "-") + " | " + interval(each) + " | " +
            (timed(each) ? significant(each.p_value, 2) : "-") + " | " + units(each) + " | " +
            for_markdown(each.name);
    if (!each.notes.empty()) text += "<br>" + for_markdown(notes_of(each));
    text += " |\n";
  }
  text += "\n";
  for (const std::string& line : explanations(comparison, heading)) {
    text += "- " + for_markdown(line) + "\n";
  }
  return text;
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
      row["unit"] = name_of(each.unit);
    }
    if (!each.regressions.empty()) row["regressions"] = each.regressions;
    if (!each.notes.empty()) row["notes"] = each.notes;
    cases.push_back(std::move(row));
  }
  const CompareOptions& options = heading.options;
  Json document{{"base", heading.base},
                {"new", heading.fresh},
                {"metric", options.metric},
                {"times_compared", options.times},
                {"alpha", options.alpha},
                {"confidence", options.confidence},
                {"max_slowdown", options.max_slowdown},
                {"per_case", options.per_case},
                {"max_memory_growth", options.max_memory_growth},
                {"max_error_growth", options.max_error_growth},
                {"exact", options.exact},
                {"summary", summary(comparison, heading)},
                {"remarks", heading.remarks},
                {"measured_on_neither_side", comparison.skipped}};
  const double mean = mean_ratio(comparison);
  if (mean > 0) document["geometric_mean_ratio"] = mean;
  document["cases"] = std::move(cases);
  return document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string compare_to_junit(const Comparison& comparison, const CompareHeading& heading) {
  const auto number = [&](auto&& wanted) {
    return std::to_string(
        std::count_if(comparison.cases.begin(), comparison.cases.end(),
                      [&](const CaseComparison& each) { return wanted(each.verdict); }));
  };
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"trainbench " +
                     for_markup(heading.base + " -> " + heading.fresh) + "\" tests=\"" +
                     std::to_string(comparison.cases.size()) + "\" failures=\"" + number(bad) +
                     "\" skipped=\"" +
                     number([](Verdict verdict) { return verdict == Verdict::missing; }) + "\">\n" +
                     "  <properties>\n    <property name=\"summary\" value=\"" +
                     for_markup(summary(comparison, heading)) + "\"/>\n";
  for (const std::string& line : explanations(comparison, heading)) {
    text += "    <property name=\"remark\" value=\"" + for_markup(line) + "\"/>\n";
  }
  text += "  </properties>\n";
  for (const CaseComparison& each : comparison.cases) {
    const std::string message =
        for_markup(std::string(name_of(each.verdict)) + ": " + sentence(each, heading.options));
    text += "  <testcase classname=\"trainbench\" name=\"" + for_markup(each.name) + "\"";
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

std::string compare_to_github(const Comparison& comparison, const CompareHeading& heading) {
  std::string text;
  for (const CaseComparison& each : comparison.cases) {
    const char* level = bad(each.verdict) ? "error"
                        : each.verdict == Verdict::missing || each.verdict == Verdict::ambiguous
                            ? "warning"
                            : nullptr;
    if (level == nullptr && each.notes.empty()) continue;
    if (level == nullptr) level = "notice";
    text += std::string("::") + level + " title=trainbench " + std::string(name_of(each.verdict)) +
            "::" + for_github(each.name + ": " + sentence(each, heading.options)) + "\n";
  }
  std::string whole = heading.base + " -> " + heading.fresh + ": " + summary(comparison, heading);
  for (const std::string& line : explanations(comparison, heading)) whole += "\n" + line;
  return text + "::notice title=trainbench::" + for_github(whole) + "\n";
}

}  // namespace trainbench
