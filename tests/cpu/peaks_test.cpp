#include "cpu/peaks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "common/system/cpu_topology.h"
#include "cpu/peaks_kernels.h"

namespace trainbench {
namespace {

// A loop that the compiler shortened or dropped, or whose lanes are miscounted, has another sum.
TEST(Peaks, KernelsDoTheWorkThatIsCounted) {
  for (const PeakKernel& kernel : peak_kernels()) {
    if (!kernel.available()) continue;
    for (const std::int64_t rounds : {1000, 1777}) {
      const double expected = kernel.expected(rounds);
      // x = 3/4 x + 1/4 stops where a step's rounding error u undoes a quarter of the distance to
      // 1, at most 4u from it. Dot products of these operands are exact.
      EXPECT_NEAR(kernel.run(rounds), expected, 4 * kernel.roundoff * expected)
          << kernel.instruction;
    }
  }
}

TEST(Peaks, KernelsServeThePrecisionsOfTheBuild) {
  std::set<std::string> precisions;
  for (const PeakKernel& kernel : peak_kernels()) precisions.insert(kernel.precision);
  std::set<std::string> expected = {"fp32", "fp64"};
#if defined(__AVX512BF16__) || defined(__AMX_BF16__)
  expected.insert("bf16");
#endif
#if defined(__AVX512FP16__)
  expected.insert("fp16");
#endif
  EXPECT_EQ(precisions, expected);
}

TEST(Peaks, MeasuresEachKernelAndTheBandwidth) {
  const Peaks peaks = measure_cpu_peaks(1, 0.002);
  for (const PeakKernel& kernel : peak_kernels()) {
    if (!kernel.available()) continue;
    EXPECT_TRUE(peaks.flops.contains(kernel.precision)) << kernel.instruction;
  }
  for (const auto& [precision, flops] : peaks.flops) {
    EXPECT_TRUE(std::isfinite(flops) && flops > 0) << precision << ' ' << flops;
  }
  EXPECT_TRUE(std::isfinite(peaks.bandwidth) && peaks.bandwidth > 0) << peaks.bandwidth;
}

TEST(Peaks, DescribesThisCpu) {
  const DeviceInfo info = cpu_device_info();
  EXPECT_EQ(info.kind, "cpu");
  EXPECT_FALSE(info.name.empty());
  EXPECT_FALSE(info.simulated);
  EXPECT_EQ(info.units, usable_cores());
  EXPECT_GT(info.memory_bytes, 0u);
#if defined(__x86_64__)
  EXPECT_GT(info.clock, 0);
  EXPECT_GE(info.lanes, 4 * info.units);
#endif
}

}  // namespace
}  // namespace trainbench
