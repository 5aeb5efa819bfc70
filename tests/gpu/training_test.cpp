#include <gtest/gtest.h>

#include "common/check/check_backend.h"
#include "gpu/cuda_backend.h"
#include "tests/gpu/small_training.h"

namespace trainbench {
namespace {

class EveryPrecision : public testing::TestWithParam<Precision> {};

TEST_P(EveryPrecision, EachOperationOfAStepIsRight) {
  for (const bool fused : {true, false}) {
    const auto backend = make_cuda_backend();
    CheckBackend check(*backend);
    const SmallTraining training{.precision = GetParam(), .fused = fused};
    Trainer trainer = training.make(*backend);
    const Batch batch = training.batch_on(*backend, 0);
    for (int step = 0; step < 2; ++step) trainer.step(check, batch);
    EXPECT_TRUE(check.summary().passed) << check.summary().worst;
    EXPECT_GT(check.summary().outputs, 10000);
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, EveryPrecision, testing::ValuesIn(kPrecisions),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(GpuTraining, LossFalls) {
  const auto backend = make_cuda_backend();
  const std::vector<double> curve = SmallTraining{}.losses(*backend, 20);
  EXPECT_LT(curve.back(), 0.9 * curve.front());
}

}  // namespace
}  // namespace trainbench
