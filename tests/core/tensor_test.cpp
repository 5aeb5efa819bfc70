#include "common/core/tensor.h"

#include <gtest/gtest.h>

#include <vector>

#include "common/core/dispatch.h"

namespace trainbench {
namespace {

TEST(DType, HasTheSizeOfItsElement) {
  for (const DType dtype :
       {DType::u8, DType::i32, DType::f16, DType::bf16, DType::f32, DType::f64}) {
    dispatch_any(dtype, [&](auto tag) {
      using T = typename decltype(tag)::type;
      EXPECT_EQ(size_of(dtype), sizeof(T)) << name_of(dtype);
      EXPECT_EQ(dtype_of<T>(), dtype) << name_of(dtype);
    });
  }
}

// u = half the distance from 1 to the next number.
TEST(DType, KnowsItsRoundoff) {
  EXPECT_EQ(unit_roundoff(DType::f32), std::numeric_limits<float>::epsilon() / 2);
  EXPECT_EQ(unit_roundoff(DType::f64), std::numeric_limits<double>::epsilon() / 2);
  const auto above_one = [](auto half) {
    const float one = 1.0f;
    auto next = decltype(half)(one);
    ++next.bits;
    return static_cast<double>(static_cast<float>(next) - one);
  };
  EXPECT_EQ(unit_roundoff(DType::f16), above_one(Float16()) / 2);
  EXPECT_EQ(unit_roundoff(DType::bf16), above_one(BFloat16()) / 2);
}

TEST(DType, DispatchFloatRefusesIntegers) {
  const auto nothing = [](auto) {};
  EXPECT_THROW(dispatch_float(DType::u8, nothing), std::logic_error);
  EXPECT_THROW(dispatch_float(DType::i32, nothing), std::logic_error);
}

TEST(Tensor, IsAViewOfItsElements) {
  std::vector<float> values{0, 1, 2, 3, 4, 5};
  const Tensor tensor(values.data(), Shape{2, 3}, DType::f32);
  EXPECT_EQ(tensor.elements(), 6);
  EXPECT_EQ(tensor.bytes(), 24u);
  tensor.as<float>()[4] = 9;
  EXPECT_EQ(values[4], 9);
  const ConstTensor constant = tensor;
  EXPECT_EQ(constant.as<float>()[4], 9);
}

TEST(Tensor, RangesAndReshapesKeepTheElements) {
  std::vector<double> values{0, 1, 2, 3, 4, 5};
  const Tensor tensor(values.data(), Shape{6}, DType::f64);
  const Tensor part = tensor.range(2, 4).reshaped(Shape{2, 2});
  EXPECT_EQ(part.shape, Shape({2, 2}));
  EXPECT_EQ(part.as<double>(), values.data() + 2);
  EXPECT_EQ(tensor.range(6, 0).elements(), 0);
}

TEST(Tensor, RefusesWhatDoesNotFit) {
  std::vector<float> values(6);
  const Tensor tensor(values.data(), Shape{6}, DType::f32);
  EXPECT_THROW(tensor.range(4, 3), std::logic_error);
  EXPECT_THROW(tensor.range(-1, 2), std::logic_error);
  EXPECT_THROW(tensor.range(0, -1), std::logic_error);
  EXPECT_THROW(tensor.reshaped(Shape{4}), std::logic_error);
  EXPECT_THROW(tensor.as<double>(), std::logic_error);
}

TEST(Tensor, MayHaveAShapeWithoutData) {
  EXPECT_TRUE(Tensor().absent());
  EXPECT_TRUE(ConstTensor().absent());
  const Tensor planned(nullptr, Shape{8}, DType::bf16);
  EXPECT_FALSE(planned.absent());
  EXPECT_EQ(planned.bytes(), 16u);
  EXPECT_EQ(planned.range(2, 3).data, nullptr);
  EXPECT_EQ(planned.range(2, 3).elements(), 3);
}

}  // namespace
}  // namespace trainbench
