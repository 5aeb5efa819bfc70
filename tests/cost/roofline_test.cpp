#include "common/cost/roofline.h"

#include <gtest/gtest.h>

#include "common/core/error.h"

namespace trainbench {
namespace {

constexpr Roofs kRoofs{
    .product_flops = 100, .convolution_flops = 50, .bandwidth = 10, .operation_seconds = 0.5};

TEST(Roofline, TakesTheLongerOfComputeAndTrafficOfEachOperation) {
  const Estimate estimate = roofline({{"matmul 1x1x1", 2, {400, 10}},  // 4 s of FLOPs, 1 s of bytes
                                      {"conv2d 1x1", 1, {400, 10}},    // 8 s of FLOPs
                                      {"sgd", 1, {0, 30}}},            // 3 s of bytes
                                     kRoofs);
  EXPECT_DOUBLE_EQ(estimate.compute, 12);
  EXPECT_DOUBLE_EQ(estimate.bandwidth, 3);
  EXPECT_DOUBLE_EQ(estimate.overhead, 2);
  EXPECT_DOUBLE_EQ(estimate.seconds, 17);
}

TEST(Roofline, RoofsAreRatedPeaksTimesWhatTheirUnitReaches) {
  DeviceSpec device;
  device.name = "card";
  device.bandwidth = 1000;
  device.peaks["fp32"] = {100, "fp32", MathUnit::cuda_cores};
  device.peaks["bf16"] = {800, "fp32", MathUnit::tensor_cores};
  device.peaks["fp16"] = {1600, "fp16", MathUnit::tensor_cores};
  Efficiencies reached;
  reached.cuda_cores.value = 0.5;
  reached.cuda_convolution.value = 0.8;
  reached.tensor_cores.value = 0.25;
  reached.tensor_convolution.value = 0.1;
  reached.bandwidth.value = 0.9;
  reached.operation_seconds.value = 1e-6;
  const Roofs exact = roofs_of(device, reached, kFp32);
  EXPECT_DOUBLE_EQ(exact.product_flops, 50);
  EXPECT_DOUBLE_EQ(exact.convolution_flops, 40);
  EXPECT_DOUBLE_EQ(exact.bandwidth, 900);
  EXPECT_DOUBLE_EQ(exact.operation_seconds, 1e-6);
  const Roofs mixed = roofs_of(device, reached, kBf16);
  EXPECT_DOUBLE_EQ(mixed.product_flops, 200);
  EXPECT_DOUBLE_EQ(mixed.convolution_flops, 20);
  EXPECT_THROW(roofs_of(device, reached, kFp16), Unsupported);
  EXPECT_THROW(roofs_of(device, reached, kFp64), Unsupported);
}

TEST(Efficiencies, AreThereForEveryArchitectureAndNameTheirRows) {
  const auto all = read_efficiencies();
  for (const std::string_view name : architectures()) {
    ASSERT_TRUE(all.contains(std::string(name))) << name;
    for (const NamedConstant& each : fitted_constants()) {
      const FittedConstant& constant = all.at(std::string(name)).*each.constant;
      EXPECT_GT(constant.value, 0) << name << " " << each.name;
      EXPECT_FALSE(constant.rows.empty()) << name << " " << each.name;
    }
  }
}

}  // namespace
}  // namespace trainbench
