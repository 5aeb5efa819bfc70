#include <gtest/gtest.h>

#include <string>

#include "common/cost/cost_backend.h"

namespace trainbench {
namespace {

/// Bytes of the one operation that `work` calls; it has no products.
template <class Work>
double bytes_of_operation(const Work& work) {
  CostBackend cost;
  work(cost);
  EXPECT_EQ(cost.operations().size(), 1u);
  EXPECT_EQ(cost.total().flops, 0);
  return cost.total().bytes;
}

Tensor tensor(Shape shape, DType dtype = DType::bf16) { return {nullptr, shape, dtype}; }

const Shape kImages{2, 4, 6, 8};             // 384 elements
constexpr double kImageBytes = 2 * 384;      // of bf16
constexpr double kChannels = 8 * (2 + 4.0);  // a weight in bf16 and its gradient in fp32

TEST(CostOfDiffusion, ReadsEachOperandOnceAndWritesEachResultOnce) {
  const Tensor x = tensor(kImages);
  const Tensor large = tensor({2, 8, 12, 8});
  const auto expect = [](double bytes, const auto& work) {
    EXPECT_EQ(bytes_of_operation(work), bytes);
  };
  expect(3 * kImageBytes, [&](Backend& b) { b.add(x, x, x); });
  expect(2 * kImageBytes, [&](Backend& b) { b.dropout({}, x, {}); });
  expect(5 * kImageBytes, [&](Backend& b) { b.upsample(x, large); });
  expect(5 * kImageBytes, [&](Backend& b) { b.upsample_backward(large, x); });
  const Tensor joined = tensor({2, 4, 6, 16});
  expect(4 * kImageBytes, [&](Backend& b) { b.concat(x, x, joined); });
  expect(4 * kImageBytes, [&](Backend& b) { b.split(joined, x, x); });
  const Tensor losses = tensor({2}, DType::f32);
  expect(3 * kImageBytes + 8, [&](Backend& b) { b.mean_squared_error(x, x, losses, x, {}); });
  const Tensor bytes = tensor(kImages, DType::u8);
  const Tensor times = tensor({2}, DType::i32);
  expect(2.5 * kImageBytes + 8, [&](Backend& b) { b.diffuse(bytes, 1, 0, {}, {}, x, x, times); });
}

TEST(CostOfDiffusion, CountsANormsStatisticsAndWhatItAddsTo) {
  const Tensor x = tensor(kImages);
  const Tensor channels = tensor({8});
  const Tensor gradient = tensor({8}, DType::f32);
  const Tensor statistics = tensor({2, 4}, DType::f32);
  constexpr double kStatistics = 2 * 2 * 4 * 4.0;
  const auto forward = [&](Backend& b) {
    b.group_norm({.groups = 4}, x, {channels, channels}, statistics, statistics, x);
  };
  EXPECT_EQ(bytes_of_operation(forward), 2 * kImageBytes + kStatistics + 2 * 8 * 2);
  const auto backward = [&](Activation activation, bool accumulate) {
    return bytes_of_operation([&](Backend& b) {
      b.group_norm_backward({.groups = 4, .activation = activation}, x, x, {channels, channels},
                            statistics, statistics, accumulate, x, {gradient, gradient});
    });
  };
  // Without an activation the bias is not read.
  const double plain = 3 * kImageBytes + kStatistics + 2 * kChannels - 8 * 2;
  EXPECT_EQ(backward(Activation::none, false), plain);
  EXPECT_EQ(backward(Activation::silu, false), plain + 8 * 2);
  EXPECT_EQ(backward(Activation::none, true), plain + kImageBytes);
}

}  // namespace
}  // namespace trainbench
