#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "common/check/check_backend.h"
#include "common/check/random_tensor.h"
#include "common/nn/trainer.h"
#include "gpu/cuda_backend.h"

namespace trainbench {
namespace {

constexpr std::int64_t kBatch = 4;
constexpr std::int64_t kImage = 8;
constexpr int kSteps = 3;

/// A diffusion model with every kind of block, on one batch of noise.
struct Training {
  Training(const Precision& precision, bool fused)
      : trainer(*backend, workload_by_name("diffusion"),
                {.precision = precision,
                 .batch = kBatch,
                 .seed = 1,
                 .fused = fused,
                 .sizes = {{"image", kImage}, {"width", 8}, {"groups", 2}, {"steps", 10}}}),
        batch{random_tensor(*backend, Shape{kBatch, kImage, kImage, 1}, DType::u8, 1, 0, 256), {}} {
  }

  std::unique_ptr<Backend> backend = make_cuda_backend();
  Trainer trainer;
  Batch batch;
};

class DiffusionTraining : public testing::TestWithParam<Precision> {};

TEST_P(DiffusionTraining, EachOperationOfAStepIsRight) {
  for (const bool fused : {true, false}) {
    Training training(GetParam(), fused);
    CheckBackend check(*training.backend);
    training.trainer.step(check, training.batch);
    EXPECT_TRUE(check.summary().passed) << check.summary().worst;
    EXPECT_GT(check.summary().outputs, 10000);
  }
}

// Times and noise are drawn anew in each replay: a step's number is read from device memory.
TEST_P(DiffusionTraining, AReplayedStepGivesTheBitsOfAnEagerOne) {
  Training eager(GetParam(), true);
  Training replayed(GetParam(), true);
  std::unique_ptr<Recording> recording;
  for (int step = 0; step < kSteps; ++step) {
    eager.trainer.step(*eager.backend, eager.batch);
    if (step == 0) {
      replayed.trainer.step(*replayed.backend, replayed.batch);
      recording = replayed.backend->record(
          [&] { replayed.trainer.step(*replayed.backend, replayed.batch); });
    } else {
      recording->replay();
    }
    EXPECT_EQ(eager.trainer.loss(), replayed.trainer.loss()) << "after step " << step;
  }
  EXPECT_EQ(read_values(*eager.backend, eager.trainer.parameters().master()),
            read_values(*replayed.backend, replayed.trainer.parameters().master()));
}

INSTANTIATE_TEST_SUITE_P(Gpu, DiffusionTraining, testing::ValuesIn(kPrecisions),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace trainbench
