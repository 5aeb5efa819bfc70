#include "common/core/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "common/core/philox.h"

namespace trainbench {
namespace {

/// The two formats by their parameters: significand bits, the leading one included, and the
/// exponent of the smallest normal number.
template <class T>
struct Format;
template <>
struct Format<Float16> {
  static constexpr int kDigits = 11;
  static constexpr int kMinExponent = -14;
  static constexpr double kMax = 65504;
  static constexpr std::uint16_t kInf = 0x7c00;
};
template <>
struct Format<BFloat16> {
  static constexpr int kDigits = 8;
  static constexpr int kMinExponent = -126;
  static constexpr double kMax = 0x1.fep127;
  static constexpr std::uint16_t kInf = 0x7f80;
};

template <class T>
T from_bits(std::uint16_t bits) {
  T value;
  value.bits = bits;
  return value;
}

/// A pattern's value by the definition of the format: sign, exponent field, fraction field.
template <class T>
double value_of(std::uint16_t bits) {
  constexpr int kFraction = Format<T>::kDigits - 1;
  const int exponent = (bits & 0x7fff) >> kFraction;
  const int fraction = bits & ((1 << kFraction) - 1);
  const int largest = Format<T>::kInf >> kFraction;
  double magnitude = 0;
  if (exponent == largest) {
    magnitude = fraction == 0 ? std::numeric_limits<double>::infinity()
                              : std::numeric_limits<double>::quiet_NaN();
  } else if (exponent == 0) {
    magnitude = std::ldexp(fraction, Format<T>::kMinExponent - kFraction);
  } else {
    magnitude =
        std::ldexp((1 << kFraction) + fraction, Format<T>::kMinExponent - kFraction + exponent - 1);
  }
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}

/// Rounds to the format in double arithmetic, where std::nearbyint of the scaled number is exact
/// and rounds to even.
template <class T>
double rounded(float value) {
  const double x = static_cast<double>(value);
  if (!std::isfinite(x) || x == 0) return x;
  const int exponent = std::max(std::ilogb(x), Format<T>::kMinExponent);
  const double unit = std::ldexp(1.0, exponent - (Format<T>::kDigits - 1));
  const double result = std::nearbyint(x / unit) * unit;
  return std::abs(result) > Format<T>::kMax
             ? std::copysign(std::numeric_limits<double>::infinity(), x)
             : result;
}

template <class T>
void expect_rounds(float value) {
  const double expected = rounded<T>(value);
  const double actual = value_of<T>(T(value).bits);
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(actual)) << value;
  } else {
    EXPECT_EQ(actual, expected) << value;
    EXPECT_EQ(std::signbit(actual), std::signbit(expected)) << value;
  }
}

template <class T>
class HalfTest : public testing::Test {};
using Halves = testing::Types<Float16, BFloat16>;
TYPED_TEST_SUITE(HalfTest, Halves);

TYPED_TEST(HalfTest, WidensEveryPattern) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const double expected = value_of<TypeParam>(pattern);
    const float actual = static_cast<float>(from_bits<TypeParam>(pattern));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(actual)) << bits;
    } else {
      EXPECT_EQ(static_cast<double>(actual), expected) << bits;
      EXPECT_EQ(std::signbit(actual), (pattern & 0x8000) != 0) << bits;
    }
  }
}

TYPED_TEST(HalfTest, EveryPatternSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto pattern = static_cast<std::uint16_t>(bits);
    const float value = static_cast<float>(from_bits<TypeParam>(pattern));
    if (std::isnan(value)) continue;
    EXPECT_EQ(TypeParam(value).bits, pattern) << bits;
  }
}

// Around every pattern: the midpoint to the next one and its neighbours, where rounding decides.
TYPED_TEST(HalfTest, RoundsMidpointsToEven) {
  for (std::uint32_t bits = 0; bits < Format<TypeParam>::kInf; ++bits) {
    const double low = value_of<TypeParam>(static_cast<std::uint16_t>(bits));
    const bool last = bits + 1u == Format<TypeParam>::kInf;
    const double high =
        last ? low + (low - value_of<TypeParam>(static_cast<std::uint16_t>(bits - 1)))
             : value_of<TypeParam>(static_cast<std::uint16_t>(bits + 1));
    const auto middle = static_cast<float>((low + high) / 2);
    for (const float value : {middle, std::nextafter(middle, 0.0f),
                              std::nextafter(middle, std::numeric_limits<float>::infinity())}) {
      expect_rounds<TypeParam>(value);
      expect_rounds<TypeParam>(-value);
    }
  }
}

TYPED_TEST(HalfTest, RoundsAnyFloat) {
  const Philox random(11, 0);
  for (std::uint64_t i = 0; i < 1000000; ++i) {
    expect_rounds<TypeParam>(std::bit_cast<float>(random.word(i)));
  }
}

TYPED_TEST(HalfTest, RoundsTheEdges) {
  using Limits = std::numeric_limits<float>;
  for (const float value : {0.0f, Limits::denorm_min(), Limits::min(), Limits::max(),
                            Limits::infinity(), Limits::quiet_NaN(), Limits::signaling_NaN(),
                            65504.0f, 65519.996f, 65520.0f, 0x1p-25f, 0x1.000002p-25f}) {
    expect_rounds<TypeParam>(value);
    expect_rounds<TypeParam>(-value);
  }
}

}  // namespace
}  // namespace trainbench
