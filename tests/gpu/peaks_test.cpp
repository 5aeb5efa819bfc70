#include "gpu/peaks.h"

#include <gtest/gtest.h>

#include "common/core/error.h"
#include "common/core/precision.h"

namespace trainbench {
namespace {

TEST(CudaPeaks, EveryPrecisionIsMeasured) {
  const Peaks peaks = measure_cuda_peaks(0, 0.01);
  EXPECT_GT(peaks.bandwidth, 0);
  for (const Precision& precision : kPrecisions) {
    const std::string name(precision.name);
    ASSERT_TRUE(peaks.gemm.contains(name)) << name;
    EXPECT_GT(peaks.gemm.at(name), 0) << name;
    ASSERT_TRUE(peaks.flops.contains(name)) << name;
    EXPECT_GT(peaks.flops.at(name), 0) << name;
  }
}

TEST(CudaPeaks, ADeviceThatIsNotThereIsRefused) {
  EXPECT_THROW(measure_cuda_peaks(99, 0.01), Unsupported);
}

}  // namespace
}  // namespace trainbench
