#include <gtest/gtest.h>

#include "bench/harness/devices.h"

namespace trainbench {
namespace {

/// Run with the first device allocation failing.
TEST(PeaksFault, CostsThePeaksAlone) {
  Devices devices(Devices::Options{.gpu_index = 0, .cpu_provider = "auto", .peak_seconds = 1e-3});
  const Peaks& peaks = devices.peaks("gpu", 0);
  EXPECT_TRUE(peaks.flops.empty());
  EXPECT_EQ(peaks.bandwidth, 0);
  EXPECT_TRUE(devices.peaks_failed());
  EXPECT_NE(devices.open("gpu", 0), nullptr);
}

}  // namespace
}  // namespace trainbench
