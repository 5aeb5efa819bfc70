#include "common/report/compare_output.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "common/config/json_file.h"

namespace trainbench {
namespace {

Comparison sample() {
  Comparison comparison;
  CaseComparison slower;
  slower.name = "train/mlp/cpu/fp32/batch:256";
  slower.verdict = Verdict::slower;
  slower.ratio = 1.1;
  slower.low = 1.08;
  slower.high = 1.12;
  slower.p_value = 0.001;
  slower.threshold = 0.05;
  slower.base_units = 10;
  slower.new_units = 12;
  slower.notes = {"a <tag> & a | bar\n100 %"};
  CaseComparison open = slower;
  open.name = "few";
  open.verdict = Verdict::ambiguous;
  open.low = 0;
  open.high = std::numeric_limits<double>::infinity();
  open.unit = Unit::process;
  open.notes.clear();
  CaseComparison gone;
  gone.name = "gone";
  gone.verdict = Verdict::missing;
  comparison.cases = {slower, open, gone};
  return comparison;
}

const CompareHeading kHeading{"base.json", "new.json", {}, {"the sides differ in x"}};

TEST(CompareOutput, TableNamesVerdictChangeAndInterval) {
  const std::string table = compare_to_table(sample(), kHeading);
  const std::string first =
      "base.json -> new.json: 1 SLOWER, 1 MISSING, 1 AMBIGUOUS; wall_time +10.0% in the geometric";
  EXPECT_EQ(table.find(first), 0u) << table;
  EXPECT_NE(table.find("SLOWER    +10.0% [+8.00%, +12.0%] 0.0010 10/12 "), std::string::npos)
      << table;
  EXPECT_NE(table.find(" 10/12 processes few"), std::string::npos) << table;
}

TEST(CompareOutput, MarkdownCellsKeepTheTableWhole) {
  const std::string markdown = compare_to_markdown(sample(), kHeading);
  std::size_t rows = 0;
  for (std::size_t start = 0; start < markdown.size();) {
    const std::size_t end = markdown.find('\n', start);
    std::string line = markdown.substr(start, end - start);
    start = end + 1;
    if (line.empty() || line[0] != '|') continue;
    ++rows;
    std::size_t bars = 0;
    for (std::size_t i = 0; i < line.size(); ++i) {
      bars += line[i] == '|' && (i == 0 || line[i - 1] != '\\');
    }
    EXPECT_EQ(bars, 7u) << line;
  }
  EXPECT_EQ(rows, 5u);
  EXPECT_EQ(markdown.find("<tag>"), std::string::npos);
}

TEST(CompareOutput, JsonIsStrict) {
  const Json document = parse_json(compare_to_json(sample(), kHeading), "output");
  const Json& cases = document.at("cases");
  EXPECT_EQ(cases.at(0).at("verdict"), "SLOWER");
  EXPECT_EQ(cases.at(0).at("interval"), Json({1.08, 1.12}));
  EXPECT_FALSE(cases.at(1).contains("interval")) << "an unbounded one has no numbers";
  EXPECT_EQ(cases.at(1).at("unit"), "process");
  EXPECT_FALSE(cases.at(2).contains("ratio"));
}

TEST(CompareOutput, JunitEscapesAndCounts) {
  const std::string xml = compare_to_junit(sample(), kHeading);
  EXPECT_NE(xml.find("tests=\"3\" failures=\"1\" skipped=\"1\""), std::string::npos) << xml;
  EXPECT_NE(xml.find("a &lt;tag&gt; &amp; a | bar"), std::string::npos);
  EXPECT_EQ(xml.find("<tag>"), std::string::npos);
}

TEST(CompareOutput, GithubAnnotationsAreOneLineEach) {
  const std::string text = compare_to_github(sample(), kHeading);
  EXPECT_EQ(
      text.find(
          "::error title=trainbench SLOWER::train/mlp/cpu/fp32/batch:256: wall_time +10.0%25"),
      0u)
      << text;
  EXPECT_NE(text.find("a | bar%0A100 %25"), std::string::npos);
  EXPECT_NE(text.find("::warning title=trainbench MISSING::gone"), std::string::npos);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4) << "two warnings, an error, a notice";
}

TEST(CompareOutput, EveryFormSaysHowItWasJudged) {
  Comparison comparison = sample();
  comparison.skipped = {"a", "b"};
  CompareHeading heading = kHeading;
  heading.options.exact = {"flops_per_iteration"};
  heading.options.times = false;
  for (const auto& write :
       {compare_to_table, compare_to_markdown, compare_to_junit, compare_to_github}) {
    const std::string text = write(comparison, heading);
    for (const char* said :
         {"Times were not compared", "the sides differ in x", "To the last digit",
          "flops_per_iteration", "Measured on neither side: 2 cases", "in the geometric"}) {
      EXPECT_NE(text.find(said), std::string::npos) << said << "\n" << text;
    }
  }
  const Json json = parse_json(compare_to_json(comparison, heading), "output");
  EXPECT_EQ(json.at("times_compared"), false);
  EXPECT_EQ(json.at("exact"), Json({"flops_per_iteration"}));
  EXPECT_EQ(json.at("remarks"), Json({"the sides differ in x"}));
  EXPECT_EQ(json.at("measured_on_neither_side"), Json({"a", "b"}));
  EXPECT_NEAR(json.at("geometric_mean_ratio"), 1.1, 1e-12);
}

TEST(CompareOutput, FilesNamesBreakNoForm) {
  CompareHeading heading = kHeading;
  heading.base = "a\nb\x1b & `c`\xff.json";
  const std::string xml = compare_to_junit(sample(), heading);
  EXPECT_NE(xml.find("a b\\u001b &amp; `c`\xef\xbf\xbd.json"), std::string::npos) << xml;
  EXPECT_NE(compare_to_markdown(sample(), heading).find("`a?b? & 'c'"), std::string::npos);
}

TEST(CompareOutput, MarkdownShowsNamesAsTheyAre) {
  Comparison comparison = sample();
  comparison.cases[0].name = "a\\|b &lt; c";
  const std::string markdown = compare_to_markdown(comparison, kHeading);
  EXPECT_NE(markdown.find("| a\\\\\\|b &amp;lt; c<br>"), std::string::npos) << markdown;
}

}  // namespace
}  // namespace trainbench
