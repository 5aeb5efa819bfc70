#include "common/models/workload_cost.h"

#include <gtest/gtest.h>

#include "common/nn/trainer.h"
#include "cpu/cpu_backend.h"

namespace trainbench {
namespace {

TEST(WorkloadCost, CountsWhatATrainerWithDataWouldHold) {
  const StepProblem problem{
      &workload_by_name("lstm"), {{"hidden", 8}, {"embedding", 8}, {"sequence", 6}}, 4, kBf16};
  const StepCost step = count_step(problem);
  const std::unique_ptr<Backend> cpu = make_cpu_backend({.threads = 1});
  Trainer real(*cpu, *problem.workload, {.precision = kBf16, .batch = 4, .sizes = problem.sizes});
  EXPECT_EQ(step.memory.total(), cpu->memory().total());
  EXPECT_EQ(step.parameters, real.model().layout().parameter_count());
  EXPECT_EQ(step.tokens, 4 * 6);
}

TEST(WorkloadCost, EveryWorkloadCountsAtItsDefaultBatch) {
  for (const Workload& workload : workloads()) {
    const StepCost step = count_step({&workload, {}, 0, kFp32});
    EXPECT_EQ(step.batch, workload.default_batch) << workload.name;
    EXPECT_GT(step.total.flops, 0) << workload.name;
    EXPECT_GT(step.memory.total(), 0u) << workload.name;
  }
}

// More parameters than this machine has memory for: only what is never made can be counted.
TEST(WorkloadCost, CountsAModelThatFitsNowhere) {
  const StepCost step =
      count_step({&workload_by_name("gpt2"),
                  {{"layers", 96}, {"width", 12288}, {"heads", 96}, {"sequence", 2048}},
                  1,
                  kBf16});
  EXPECT_NEAR(static_cast<double>(step.parameters), 175e9, 1e9);
}

}  // namespace
}  // namespace trainbench
