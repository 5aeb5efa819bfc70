#include "common/nn/profile_backend.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/check/random_tensor.h"
#include "cpu/cpu_backend.h"

namespace trainbench {
namespace {

constexpr int kSteps = 3;
constexpr std::int64_t kBatch = 24;

class ProfileTest : public testing::Test {
 protected:
  ProfileTest()
      : backend_(make_cpu_backend({.threads = 1})),
        trainer_(*backend_, workload_by_name("mlp"),
                 {.batch = kBatch, .sizes = {{"inputs", 30}, {"hidden", 65}, {"classes", 10}}}),
        batch_{random_tensor(*backend_, Shape{kBatch, 5, 6, 1}, DType::u8, 1, 0, 256),
               random_tensor(*backend_, Shape{kBatch}, DType::i32, 2, 0, 10)} {}

  std::unique_ptr<Backend> backend_;
  Trainer trainer_;
  Batch batch_;
};

TEST_F(ProfileTest, HoldsWhatAStepCostsAndHowOftenItCalls) {
  CostBackend cost;
  trainer_.step(cost, batch_);
  Cost profiled;
  std::int64_t calls = 0;
  for (const ProfiledOperation& each : profile_steps(*backend_, trainer_, batch_, kSteps)) {
    profiled += each.cost;
    if (each.operation != "scalars") calls += each.calls;
    EXPECT_EQ(each.calls % kSteps, 0) << each.operation;
    EXPECT_GT(each.seconds, 0) << each.operation;
  }
  std::int64_t operations = 0;
  for (const OperationCost& each : cost.operations()) operations += each.calls;
  EXPECT_EQ(calls, kSteps * operations);
  EXPECT_DOUBLE_EQ(profiled.flops, kSteps * cost.total().flops);
  EXPECT_DOUBLE_EQ(profiled.bytes, kSteps * cost.total().bytes);
}

TEST_F(ProfileTest, TellsThePhasesApart) {
  const std::vector<ProfiledOperation> profile = profile_steps(*backend_, trainer_, batch_, kSteps);
  const auto matmuls = [&](StepPhase phase) {
    std::int64_t calls = 0;
    for (const ProfiledOperation& each : profile) {
      if (each.phase == phase && each.operation.starts_with("matmul")) calls += each.calls;
    }
    return calls;
  };
  EXPECT_EQ(matmuls(StepPhase::forward), 3 * kSteps);
  EXPECT_EQ(matmuls(StepPhase::backward), 5 * kSteps);  // the first layer's input needs none
  EXPECT_EQ(matmuls(StepPhase::update), 0);
  EXPECT_TRUE(std::any_of(profile.begin(), profile.end(), [](const ProfiledOperation& each) {
    return each.phase == StepPhase::update && each.operation.starts_with("sgd");
  }));
}

TEST_F(ProfileTest, WatchesAStepWithoutChangingIt) {
  profile_steps(*backend_, trainer_, batch_, kSteps);
  Trainer plain(*backend_, workload_by_name("mlp"), trainer_.options());
  for (int i = 0; i < kSteps + 1; ++i) plain.step(*backend_, batch_);
  EXPECT_EQ(trainer_.loss(), plain.loss());
}

}  // namespace
}  // namespace trainbench
