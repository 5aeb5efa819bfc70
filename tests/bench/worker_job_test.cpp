#include "bench/harness/worker_job.h"

#include <gtest/gtest.h>

#include "common/core/error.h"
#include "common/report/atomic_file.h"
#include "common/report/journal.h"
#include "common/report/json.h"
#include "tests/report/sample_report.h"
#include "tests/temporary_folder.h"

namespace trainbench {
namespace {

constexpr const char* kFirst = "train/mlp/cpu/fp32/batch:32";
constexpr const char* kSecond = "train/mlp/cpu/bf16/batch:32";

class WorkerJobTest : public ::testing::Test {
 protected:
  WorkerResult read() const { return read_worker_result(out_); }

  testing::TemporaryFolder folder_;
  std::string out_ = folder_.file("process-0.json");
  Journal journal_{journal_path(out_)};
  CaseResult first_ = sample_case(kFirst, 0.01);
  CaseResult second_ = sample_case(kSecond, 0.02);
};

TEST_F(WorkerJobTest, IsReadAsItWasWritten) {
  const std::string path = folder_.file("job");
  write_job(
      {.process = 3, .progress = "3/4: ", .out = out_, .repetitions = {{kSecond, 2}, {kFirst, 1}}},
      path);
  const WorkerJob job = read_job(path);
  EXPECT_EQ(job.process, 3);
  EXPECT_EQ(job.progress, "3/4: ");
  EXPECT_EQ(job.out, out_);
  EXPECT_EQ(job.repetitions, (std::vector<std::pair<std::string, int>>{{kSecond, 2}, {kFirst, 1}}));
  EXPECT_THROW(read_job(folder_.file("none")), InputError);
}

TEST_F(WorkerJobTest, AWorkerThatEndedWellHasAResult) {
  journal_.begin(first_.id);
  Report report;
  report.results = {first_};
  write_file_atomically(out_, to_json(report));
  const WorkerResult worker = read();
  EXPECT_TRUE(worker.complete);
  EXPECT_EQ(worker.unfinished, "");
  ASSERT_EQ(worker.results.size(), 1u);
  EXPECT_EQ(worker.results[0].samples.size(), first_.samples.size());
}

TEST_F(WorkerJobTest, OneThatDiedInARepetitionHasWhatCameBefore) {
  journal_.begin(first_.id);
  journal_.checked(first_);
  journal_.begin(second_.id);
  journal_.checked(second_);
  for (int i = 0; i < 2; ++i) {
    journal_.begin(first_.id);
    journal_.append(first_.id, first_.samples[static_cast<std::size_t>(i)]);
  }
  journal_.begin(second_.id);
  const WorkerResult worker = read();
  EXPECT_FALSE(worker.complete);
  EXPECT_EQ(worker.unfinished, kSecond);
  ASSERT_EQ(worker.results.size(), 2u);
  EXPECT_EQ(worker.results[0].samples.size(), 2u);
  EXPECT_EQ(worker.results[0].counters, first_.counters);
  EXPECT_EQ(worker.results[1].samples.size(), 0u);
}

TEST_F(WorkerJobTest, OneThatDiedWarmingUpSaysWhere) {
  journal_.begin(first_.id);
  journal_.checked(first_);
  EXPECT_EQ(read().unfinished, kFirst);
}

TEST_F(WorkerJobTest, OneThatDiedBetweenRepetitionsBlamesNoCase) {
  journal_.begin(first_.id);
  journal_.checked(first_);
  journal_.begin(first_.id);
  journal_.append(first_.id, first_.samples[0]);
  EXPECT_EQ(read().unfinished, "");
}

TEST_F(WorkerJobTest, OneThatNeverBeganHasNothing) {
  const WorkerResult worker = read_worker_result(folder_.file("none.json"));
  EXPECT_FALSE(worker.complete);
  EXPECT_TRUE(worker.results.empty());
}

}  // namespace
}  // namespace trainbench
