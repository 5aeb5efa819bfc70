#include "common/report/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "common/report/speedup.h"
#include "common/report/text_table.h"
#include "tests/report/sample_report.h"

namespace trainbench {
namespace {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

/// The words of the first line that starts with `start`; none where no line does.
std::vector<std::string> words_of(const std::string& text, const std::string& start) {
  for (const std::string& line : lines_of(text)) {
    if (line.rfind(start, 0) != 0) continue;
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    return words;
  }
  return {};
}

using Words = std::vector<std::string>;

TEST(Table, ARowSaysWhatWasMeasured) {
  // Times are 36 ms (1 + 0.01 i), i = 0..9: median 37.62 ms, quartiles at i = 2.25 and 6.75.
  const std::string table = to_table(sample_report());
  EXPECT_EQ(words_of(table, "cpu    fp32"),
            (Words{"cpu", "fp32", "256", "2", "37.6", "ms", "4.31%", "6.81", "k", "226", "64.6%",
                   "10.6", "30.3", "MiB", "2.31", "->", "0.500"}));
  EXPECT_EQ(words_of(table, "gpu    bf16")[3], "-") << "a GPU row counts no cores";
  EXPECT_NE(table.find("cpu: Some CPU, 2 cores\ngpu: Some GPU, 132 SMs\n"), std::string::npos);
}

TEST(Table, OneCoreIsNoPlural) {
  Report report = sample_report();
  report.context["devices"][0]["units"] = 1;
  EXPECT_NE(to_table(report).find("cpu: Some CPU, 1 core\n"), std::string::npos);
}

TEST(Table, CasesOfOneWorkloadAndBoundaryStandTogether) {
  const std::vector<std::string> lines = lines_of(to_table(sample_report()));
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "train/mlp"), 1);
  const auto heading = std::find(lines.begin(), lines.end(), "train/mlp, boundary:end-to-end");
  ASSERT_NE(heading, lines.end());
  EXPECT_EQ((heading + 1)->rfind("device type", 0), 0u);
  EXPECT_EQ((heading + 2)->rfind("cpu    fp32", 0), 0u);
  EXPECT_EQ(*(heading + 3), "");
}

TEST(Table, SequencesAlsoShowTokensASecond) {
  Report report = sample_report();
  EXPECT_EQ(to_table(report).find("tokens/s"), std::string::npos);
  report.results.front().counters["tokens_per_second"] = 6810 * 64.0;
  const std::string table = to_table(report);
  EXPECT_EQ(words_of(table, "device type")[7], "tokens/s");
  const Words row = words_of(table, "cpu    fp32");
  EXPECT_EQ(row[9], "436");
  EXPECT_EQ(row[10], "k");
  EXPECT_EQ(words_of(table, "gpu    bf16")[9], "-") << "a row of the same table without them";
  for (const std::string& line : lines_of(table)) EXPECT_LE(line.size(), 100u) << line;
}

TEST(Table, FitsAHundredColumns) {
  Report report = sample_report();
  report.context["devices"][0]["name"] = std::string(60, 'x') + " " + std::string(60, 'y');
  report.results.push_back(unmeasured_case("train/mlp/cpu/fp64/batch:1", Status::failed,
                                           std::string(300, 'r') + " " + std::string(90, 's')));
  report.results.back().reason = "word " + std::string(80, 'r') + " word " + std::string(80, 's');
  report.results.push_back(sample_case("train/mlp/cpu/fp32/batch:1048576", 12.5));
  report.results.push_back(sample_case("train/mlp/gpu/fp32/batch:1048576", 1.5));
  for (const std::string& line : lines_of(to_table(report))) EXPECT_LE(line.size(), 100u) << line;
}

TEST(Table, WhatWasNotMeasuredStandsThereWithItsReason) {
  const std::string table = to_table(sample_report());
  EXPECT_NE(table.find("\nskipped: no half on this device\n  train/mlp/gpu/fp16/batch:256\n"),
            std::string::npos);
  EXPECT_NE(table.find("\nfailed: output check failed: C[3, 7] is 1.5, reference 1.25\n"
                       "  train/mlp/gpu/tf32/batch:256\n"),
            std::string::npos);
}

TEST(Table, ARowWithoutACounterHasAGap) {
  Report report = sample_report();
  for (Sample& sample : report.results[0].samples) sample.counters.erase("wall_time");
  EXPECT_EQ(words_of(to_table(report), "cpu    fp32")[4], "-");
}

TEST(Table, AFailedCaseShowsNoTimesEvenWithRepetitions) {
  Report report = sample_report();
  report.results[0].status = Status::failed;
  report.results[0].reason = "the loss is not finite";
  EXPECT_EQ(to_table(report).find("37.6 ms"), std::string::npos);
}

TEST(Table, APartialReportSaysSo) {
  Report report = sample_report();
  EXPECT_EQ(to_table(report).find("Interrupted"), std::string::npos);
  report.partial = true;
  EXPECT_EQ(to_table(report).find("Interrupted"), 0u);
}

TEST(Table, MarksAreExplainedWhereTheyStand) {
  Report report = sample_report();
  EXPECT_EQ(to_table(report).find("the loader sets the pace"), std::string::npos);
  for (Sample& sample : report.results[5].samples) sample.counters["loader_bound"] = 1;
  report.results[0].details["above_peak"] = true;
  report.results[2].samples[0].counters["wall_time"] = 1;
  for (int i = 0; i < 4; ++i) report.results[2].samples[i].counters["wall_time"] = 1;
  const std::string table = to_table(report);
  for (const char* legend :
       {"\nL: the loader sets", "\nP: a repetition was above the measured", "\nN: noisy"}) {
    EXPECT_NE(table.find(legend), std::string::npos) << legend;
  }
  EXPECT_EQ(words_of(table, "cpu    bf16").back(), "N");
}

TEST(Table, ASimulationShowsNoSpeed) {
  Report report = sample_report();
  for (CaseResult& result : report.results) result.simulated = result.id.device == "gpu";
  report.context["devices"][1]["simulated"] = true;
  const std::string table = to_table(report);
  EXPECT_EQ(words_of(table, "gpu    fp32"),
            (Words{"gpu", "fp32", "256", "-", "simulated", "-", "-", "-", "-", "-", "30.3", "MiB",
                   "2.31", "->", "0.500"}));
  EXPECT_EQ(table.find("GPU over CPU"), std::string::npos);
  EXPECT_NE(table.find("The GPU is simulated"), std::string::npos);
  EXPECT_TRUE(speedups(report, "train/mlp").empty());

  // Of the CSV's GPU rows no column of time or rate has a value.
  const std::vector<std::string> csv = lines_of(to_csv(report));
  std::istringstream titles(csv[0]);
  std::istringstream fields(csv[4]);
  ASSERT_EQ(csv[4].rfind("train/mlp/gpu/fp32", 0), 0u);
  std::string field;
  for (std::string title; std::getline(titles, title, ',');) {
    field.clear();
    std::getline(fields, field, ',');
    const bool timed = title.find("time") != std::string::npos ||
                       title.find("per_second") != std::string::npos ||
                       title.find("fraction") != std::string::npos;
    if (timed) {
      EXPECT_EQ(field, "") << title;
    }
    if (title == "loss_last") {
      EXPECT_EQ(field, "0.5");
    }
  }
}

const Speedup* find_pair(const std::vector<Speedup>& pairs, const std::string& label) {
  for (const Speedup& pair : pairs) {
    if (pair.label == label) return &pair;
  }
  return nullptr;
}

TEST(Speedup, PairsThePrecisionsAndTheBest) {
  const Report report = sample_report();
  const std::vector<Speedup> pairs = speedups(report, "train/mlp");
  ASSERT_EQ(pairs.size(), 3u);
  const Speedup* fp32 = find_pair(pairs, "fp32");
  const Speedup* bf16 = find_pair(pairs, "bf16");
  const Speedup* best = find_pair(pairs, "best of each");
  ASSERT_TRUE(fp32 != nullptr && bf16 != nullptr && best != nullptr);
  // 36 ms over 0.36 ms on two cores: the row of one thread is slower and takes no part.
  EXPECT_NEAR(fp32->ratio, 100, 1e-9);
  EXPECT_EQ(fp32->cpu->id.full_name(), "train/mlp/cpu/fp32/batch:256");
  EXPECT_NEAR(fp32->peak_ratio, 100, 1e-9);
  EXPECT_NEAR(bf16->ratio, 750, 1e-9);
  EXPECT_NEAR(bf16->peak_ratio, 2000, 1e-9);
  EXPECT_NEAR(best->ratio, 300, 1e-9);
  EXPECT_EQ(best->cpu->id.precision, "fp32");
  EXPECT_EQ(best->gpu->id.precision, "bf16");
  for (const Speedup& pair : pairs) {
    EXPECT_LT(pair.interval.low, pair.ratio);
    EXPECT_GT(pair.interval.high, pair.ratio);
  }
  EXPECT_TRUE(speedups(report, "train/mlp, boundary:end-to-end").empty());
}

TEST(Speedup, UsesWallTimeNotTheDevicesOwn) {
  Report report = sample_report();
  for (Sample& sample : report.results[3].samples) {
    sample.counters["gpu_time"] = sample.real_time;
    sample.counters["wall_time"] = 2 * sample.real_time;
  }
  EXPECT_NEAR(find_pair(speedups(report, "train/mlp"), "fp32")->ratio, 50, 1e-9);
}

TEST(Speedup, OverBatchesTheTimeOfASampleCounts) {
  Report report = sample_report();
  report.results.push_back(sample_case("train/mlp/cpu/fp32/batch:512", 0.036));
  report.results.push_back(sample_case("train/mlp/gpu/fp32/batch:512", 0.00048));
  const std::vector<Speedup> pairs = speedups(report, "train/mlp");
  const Speedup* any = find_pair(pairs, "any batch");
  ASSERT_NE(any, nullptr);
  // 36 ms / 512 on the CPU; 0.12 ms / 256 in bf16 on the GPU.
  EXPECT_EQ(any->cpu->id.text("batch", ""), "512");
  EXPECT_EQ(any->gpu->id.text("batch", ""), "256");
  EXPECT_NEAR(any->ratio, 150, 1e-9);
}

TEST(Csv, QuotesWhatNeedsIt) {
  Report report;
  report.results = {unmeasured_case("train/mlp/cpu/fp32/batch:8", Status::failed, "a \"b\", c")};
  EXPECT_EQ(
      to_csv(report),
      "name,status,reason,simulated,family,case,device,precision,batch,repetitions,"
      "wall_time_q1,wall_time_q3\n"
      "train/mlp/cpu/fp32/batch:8,failed,\"a \"\"b\"\", c\",false,train,mlp,cpu,fp32,8,0,,\n");
}

TEST(TextTable, AlignsAndTrims) {
  TextTable table({{"name", TextTable::Align::left}, {"n"}, {"", TextTable::Align::left}});
  table.add({"a", "100", ""});
  table.add({"longer", "7", "x"});
  EXPECT_EQ(table.text("  "), "  name     n\n  a      100\n  longer   7 x\n");
}

TEST(Wrapped, BreaksBetweenWords) {
  EXPECT_EQ(wrapped("aa bb cc dd", 5, " "), "aa bb\n cc\n dd");
  EXPECT_EQ(wrapped("aaaaaaaa b", 5, ""), "aaaaaaaa\nb");
  EXPECT_EQ(wrapped("", 5, ""), "");
}

TEST(Speedups, ProvidersOfOneProblemCompeteForTheirDevice) {
  Report report = sample_report();
  report.results = {sample_case("matmul/nn/cpu/fp32/m:4/provider:naive/threads:1", 9),
                    sample_case("matmul/nn/cpu/fp32/m:4/provider:onednn", 1),
                    sample_case("matmul/nn/gpu/fp32/m:4", 0.125)};
  const std::vector<Speedup> pairs = speedups(report, "matmul/nn, m:4");
  ASSERT_EQ(pairs.size(), 1u);
  EXPECT_EQ(pairs[0].cpu->id.text("provider", ""), "onednn");
  EXPECT_DOUBLE_EQ(pairs[0].ratio, 8);
}

}  // namespace
}  // namespace trainbench
