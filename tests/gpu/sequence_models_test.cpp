#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/check/check_backend.h"
#include "gpu/cuda_backend.h"
#include "tests/gpu/small_models.h"

// Models of sequences, small, in every precision: each operation of a step is right, and a replayed
// step gives an eager one's bits.

namespace trainbench {
namespace {

const SmallModel kModels[] = {
    {"lstm", 4, {{"embedding", 24}, {"hidden", 40}, {"sequence", 6}}},
    {"gpt", 2, {{"layers", 1}, {"heads", 2}, {"width", 32}, {"sequence", 20}}}};

struct Case {
  SmallModel model;
  Precision precision;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const SmallModel& model : kModels) {
    for (const Precision& precision : kPrecisions) all.push_back({model, precision});
  }
  return all;
}

class SequenceModels : public testing::TestWithParam<Case> {
 protected:
  const SmallModel& model() const { return GetParam().model; }
  const Precision& precision() const { return GetParam().precision; }
};

TEST_P(SequenceModels, EachOperationOfAStepIsRight) {
  for (const bool fused : {true, false}) {
    const auto backend = make_cuda_backend();
    CheckBackend check(*backend);
    SmallModelTraining training(*backend, model(), precision(), fused);
    for (int step = 0; step < 2; ++step) training.trainer.step(check, training.batch);
    EXPECT_TRUE(check.summary().passed) << check.summary().worst;
    EXPECT_GT(check.summary().outputs, 10000);
  }
}

TEST_P(SequenceModels, AReplayedStepGivesTheBitsOfAnEagerOne) {
  const auto first = make_cuda_backend();
  const auto second = make_cuda_backend();
  SmallModelTraining eager(*first, model(), precision(), true);
  SmallModelTraining replayed(*second, model(), precision(), true);
  std::vector<double> expected, losses;
  std::unique_ptr<Recording> recording;
  for (int step = 0; step < 4; ++step) {
    expected.push_back(eager.step());
    if (step == 0) {
      losses.push_back(replayed.step());
      continue;
    }
    if (!recording) {
      recording = second->record([&] { replayed.trainer.step(replayed.backend, replayed.batch); });
    }
    recording->replay();
    losses.push_back(replayed.trainer.loss());
  }
  EXPECT_EQ(losses, expected);
  EXPECT_EQ(read_values(*second, replayed.trainer.parameters().master()),
            read_values(*first, eager.trainer.parameters().master()));
}

INSTANTIATE_TEST_SUITE_P(Gpu, SequenceModels, testing::ValuesIn(cases()), [](const auto& test) {
  return test.param.model.name + "_" + std::string(test.param.precision.name);
});

}  // namespace
}  // namespace trainbench
