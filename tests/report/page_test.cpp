#include "common/report/page/page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/report/sample_report.h"

namespace trainbench {
namespace {

std::vector<RunFile> runs_of(const Report& report) {
  return {{.path = "results/sample.json", .time = 1769857200, .commit = "c1", .report = report}};
}

const PageSection& section(const Page& page, const std::string& title) {
  for (const PageSection& each : page.sections) {
    if (each.title == title) return each;
  }
  throw std::out_of_range(title);
}

const PageCell& cell(const PageTable& table, std::size_t row, const std::string& column) {
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i] == column) return table.rows.at(row).at(i);
  }
  throw std::out_of_range(column);
}

TEST(Page, TheHeadlinePairsEqualPrecisionsAndNamesCoresAndPeaks) {
  const Page page = page_of(runs_of(sample_report()));
  const PageTable& table = section(page, "GPU over CPU").tables.at(0);
  ASSERT_FALSE(table.rows.empty());
  EXPECT_NE(cell(table, 0, "pair").text.find("fp32"), std::string::npos);
  EXPECT_EQ(cell(table, 0, "speed-up").text, "100x");
  EXPECT_EQ(cell(table, 0, "ratio of measured peaks").text, "100x");
  EXPECT_EQ(cell(table, 0, "CPU cores").text, "2");
}

TEST(Page, ASimulatedGpuHasNoSpeedAnywhere) {
  Report report = sample_report();
  for (CaseResult& result : report.results) result.simulated = result.id.device == "gpu";
  const Page page = page_of(runs_of(report));
  EXPECT_TRUE(section(page, "GPU over CPU").tables.empty());
  const PageTable& rows = section(page, "Every row").tables.at(0);
  bool seen = false;
  for (std::size_t i = 0; i < rows.rows.size(); ++i) {
    if (cell(rows, i, "device").text != "gpu (simulated)") continue;
    seen = true;
    EXPECT_EQ(cell(rows, i, "time").text, "-");
    EXPECT_EQ(cell(rows, i, "samples/s").text, "-");
  }
  EXPECT_TRUE(seen);
  for (const PageFigure& figure : section(page, "Pictures").figures) {
    EXPECT_EQ(figure.traces.dump().find("/gpu/"), std::string::npos) << figure.title;
  }
}

TEST(Page, FailedAndSkippedCasesStandThereWithTheirReasons) {
  const Page page = page_of(runs_of(sample_report()));
  const PageTable& table = section(page, "Not measured").tables.at(0);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(cell(table, 0, "status").text, "skipped");
  EXPECT_EQ(cell(table, 1, "reason").text, "output check failed: C[3, 7] is 1.5, reference 1.25");
}

TEST(Page, WhatWouldFoolAReaderIsSaid) {
  Report report = sample_report();
  report.partial = true;
  const Page page = page_of(runs_of(report));
  const PageTable& table = section(page, "What to mind").tables.at(0);
  EXPECT_EQ(cell(table, 0, "run").text, "A");
  const bool said = std::any_of(table.rows.begin(), table.rows.end(), [](const auto& row) {
    return row.at(1).text.find("interrupted") != std::string::npos;
  });
  EXPECT_TRUE(said);
}

TEST(Page, SeveralFilesStandSideBySide) {
  std::vector<RunFile> runs = runs_of(sample_report());
  runs.push_back(
      {.path = "two.json", .time = 1769857300, .commit = "c2", .report = sample_report(2)});
  const Page page = page_of(runs);
  const PageTable& rows = section(page, "Every row").tables.at(0);
  EXPECT_EQ(cell(rows, 0, "run").text, "A");
  EXPECT_EQ(cell(rows, rows.rows.size() - 1, "run").text, "B");
  EXPECT_EQ(section(page, "What was measured").tables.at(0).rows.size(), 2u);
  EXPECT_EQ(page.data.size(), 2u);
}

TEST(Page, TheRooflineHasThePeaksOfBothDevices) {
  Report report = sample_report();
  for (CaseResult& result : report.results) result.counters["bytes_per_iteration"] = 0.4e9;
  const Page page = page_of(runs_of(report));
  const auto& figures = section(page, "Pictures").figures;
  const auto roofline = std::find_if(figures.begin(), figures.end(), [](const PageFigure& each) {
    return each.title == "Roofline";
  });
  ASSERT_NE(roofline, figures.end());
  const std::string traces = roofline->traces.dump();
  for (const char* name : {"cpu fp32 roof", "cpu bf16 roof", "gpu fp32 roof", "gpu bf16 roof"}) {
    EXPECT_NE(traces.find(name), std::string::npos) << name;
  }
  EXPECT_EQ(cell(roofline->table, 0, "FLOP a byte").text, "21.3");
}

constexpr const char* kAttack = "</script><script>alert(1)</script><img src=x onerror=alert(2)>";

TEST(Page, NothingInAFileRunsInThePage) {
  Report report = sample_report();
  report.google_context["host_name"] = kAttack;
  report.context["suite"] = kAttack;
  report.context["settings"] = {{"command", {kAttack}}, {"repetitions", kAttack}};
  report.context["devices"][0]["name"] = kAttack;
  report.results[0].id.keys.emplace_back("note", kAttack);
  report.results.back().reason = kAttack;
  std::vector<RunFile> runs = runs_of(report);
  runs[0].path = kAttack;
  const Page page = page_of(runs);
  const std::string html = to_html(page);
  EXPECT_EQ(html.find("<script>alert"), std::string::npos);
  EXPECT_EQ(html.find("<img"), std::string::npos);
  std::istringstream markdown(to_markdown(page));
  for (std::string line; std::getline(markdown, line);) {
    if (line.starts_with("    ")) continue;  // code, shown as it is
    EXPECT_EQ(line.find("<script"), std::string::npos) << line;
  }
}

TEST(Page, TheDataInThePageAreTheFilesOwn) {
  const Report report = sample_report();
  const std::string html = to_html(page_of(runs_of(report)));
  const std::string start = "<script type=\"application/json\" id=\"data0\">";
  const std::size_t first = html.find(start) + start.size();
  const std::string text = html.substr(first, html.find("</script>", first) - first);
  const Page page = page_of(runs_of(report));
  EXPECT_EQ(Json::parse(text), Json::parse(page.data[0].json));
}

}  // namespace
}  // namespace trainbench
