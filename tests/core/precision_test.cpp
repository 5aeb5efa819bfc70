#include "common/core/precision.h"

#include <gtest/gtest.h>

#include "common/core/error.h"

namespace trainbench {
namespace {

TEST(Precision, IsFoundByItsName) {
  for (const Precision& precision : kPrecisions) {
    EXPECT_EQ(precision_by_name(precision.name), precision);
  }
}

TEST(Precision, AnUnknownNameListsTheKnownOnes) {
  try {
    precision_by_name("fp23");
    FAIL() << "fp23 was taken";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "unknown precision \"fp23\"; one of fp64, fp32, tf32, fp16, bf16");
  }
}

TEST(Precision, SixteenBitsKeepAMasterCopyAndOnlyFp16ScalesItsLoss) {
  for (const Precision& precision : kPrecisions) {
    const bool narrow = size_of(precision.compute) == 2;
    EXPECT_EQ(precision.has_master_copy(), narrow) << precision.name;
    EXPECT_EQ(precision.loss_scaling, precision.compute == DType::f16) << precision.name;
    EXPECT_EQ(precision.master, precision.compute == DType::f64 ? DType::f64 : DType::f32);
  }
}

TEST(Precision, OnlyTf32CutsOperands) {
  for (const Precision& precision : kPrecisions) {
    EXPECT_EQ(operand_error(precision.math), precision == kTf32 ? 0x1p-10 : 0) << precision.name;
  }
}

}  // namespace
}  // namespace trainbench
