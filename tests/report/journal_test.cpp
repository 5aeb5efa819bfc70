#include "common/report/journal.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "common/core/error.h"
#include "tests/report/sample_report.h"
#include "tests/temporary_folder.h"

namespace trainbench {
namespace {

using testing::TemporaryFolder;

TEST(Journal, ReadsBackWhatWasAppended) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json.journal");
  CaseResult result = sample_case("train/mlp/cpu/fp32/batch:256", 0.1 + 0.2);
  result.samples[1].process = 3;
  Journal journal(path);
  journal.begin(result.id);
  journal.checked(result);
  for (const Sample& sample : result.samples) journal.append(result.id, sample);
  const std::vector<JournalEntry> entries = read_journal(path);
  ASSERT_EQ(entries.size(), 2 + result.samples.size());
  EXPECT_EQ(entries[0].event, JournalEntry::Event::begin);
  EXPECT_EQ(entries[0].result.id.full_name(), result.id.full_name());
  const CaseResult& checked = entries[1].result;
  EXPECT_EQ(entries[1].event, JournalEntry::Event::checked);
  EXPECT_EQ(checked.id.full_name(), result.id.full_name());
  EXPECT_EQ(checked.counters, result.counters);
  EXPECT_EQ(checked.details, result.details);
  ASSERT_EQ(checked.served.size(), result.served.size());
  EXPECT_EQ(checked.served[0].provider, result.served[0].provider);
  for (std::size_t i = 0; i < result.samples.size(); ++i) {
    const JournalEntry& entry = entries[2 + i];
    EXPECT_EQ(entry.event, JournalEntry::Event::sample);
    EXPECT_EQ(entry.result.id.full_name(), result.id.full_name());
    const Sample& sample = entry.result.samples.at(0);
    EXPECT_EQ(sample.iterations, result.samples[i].iterations);
    EXPECT_EQ(sample.process, result.samples[i].process);
    EXPECT_EQ(sample.real_time, result.samples[i].real_time);
    EXPECT_EQ(sample.cpu_time, result.samples[i].cpu_time);
    EXPECT_EQ(sample.counters, result.samples[i].counters);
  }
  journal.remove();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Journal, AProcessThatDiesLosesNothing) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json.journal");
  const CaseResult result = sample_case("train/mlp/cpu/fp32/batch:256", 0.036);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Journal journal(path);
    journal.append(result.id, result.samples[0]);
    journal.append(result.id, result.samples[1]);
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const std::vector<JournalEntry> entries = read_journal(path);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[1].result.samples.at(0).real_time, result.samples[1].real_time);
}

TEST(Journal, ALineCutShortIsLeftOutAndAnotherDefectIsNamed) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json.journal");
  const CaseResult result = sample_case("train/mlp/cpu/fp32/batch:256", 0.036);
  Journal(path).append(result.id, result.samples[0]);
  std::ofstream(path, std::ios::app) << R"({"name": "train/mlp/cpu/fp)";
  EXPECT_EQ(read_journal(path).size(), 1u);
  std::ofstream(path, std::ios::app) << "\n";
  try {
    read_journal(path);
    FAIL() << "was accepted";
  } catch (const InputError& error) {
    EXPECT_EQ(std::string(error.what()).find(path + " line 2"), 0u) << error.what();
  }
}

TEST(Journal, NumbersThatAreNotFiniteDoNotSpoilTheLine) {
  const TemporaryFolder folder;
  const std::string path = folder.file("r.json.journal");
  CaseResult result = sample_case("train/mlp/cpu/fp32/batch:256", 0.036);
  result.samples[0].counters["loss_last"] = std::nan("");
  Journal(path).append(result.id, result.samples[0]);
  const std::vector<JournalEntry> entries = read_journal(path);
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_FALSE(entries[0].result.samples.at(0).counters.contains("loss_last"));
}

TEST(Journal, NamesThePathThatCannotBeWritten) {
  EXPECT_THROW(Journal("/proc/r.json.journal"), InputError);
}

}  // namespace
}  // namespace trainbench
