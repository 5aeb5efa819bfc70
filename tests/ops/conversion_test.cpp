#include <limits>

#include "tests/ops/op_test.h"

namespace trainbench {
namespace {

constexpr std::int64_t kCounts[] = {1, 3, 17, 129, 1000, 4099};

using ConversionTest = OpTest;

/// Magnitudes from the subnormals of fp16 to beyond its largest number.
Values wide_values(std::int64_t count) {
  Values values = random_values(count, 5, -1, 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::ldexp(values[i], static_cast<int>(i % 44) - 26);
  }
  return values;
}

// Narrowing to 16 bits is of fp32, and rounds to nearest even exactly; half_test.cpp holds
// rounded_to()'s conversions against the formats' definition.
TEST_P(ConversionTest, CastsToTheComputeTypeAndBack) {
  for (const std::int64_t count : kCounts) {
    const Tensor from = guarded({count}, master(), wide_values(count));
    const Tensor to = guarded({count}, compute());
    backend().cast(from, to);
    Values expected = values(from);
    for (double& value : expected) value = rounded_to(compute(), value);
    expect_equal(to, expected);

    const Tensor back = guarded({count}, master());
    backend().cast(to, back);
    expect_equal(back, expected);
  }
}

TEST_P(ConversionTest, CastsTheEdges) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Values edges{0,     1,          -1,           kInf,        -kInf,      kNan,      65504,
                     65519, 65520,      0x1p-24,      0x1.8p-24,   0x1p-25,    0x1.8p-25, 1e30,
                     -1e30, 1 + 0x1p-8, 1 + 0x1.8p-8, 1 + 0x1p-11, 1 + 0x3p-11};
  const auto count = static_cast<std::int64_t>(edges.size());
  const Tensor from = guarded({count}, master(), edges);
  const Tensor to = guarded({count}, compute());
  backend().cast(from, to);
  Values expected = values(from);
  for (double& value : expected) value = rounded_to(compute(), value);
  expect_equal(to, expected);
}

TEST_P(ConversionTest, NormalizesEveryByte) {
  for (const std::int64_t count : {1, 3, 256, 4099}) {
    Values bytes;
    for (std::int64_t i = 0; i < count; ++i) bytes.push_back(static_cast<double>(i * 7 % 256));
    constexpr float kScale = 0.011109f;
    constexpr float kShift = -0.810198f;
    const Tensor to = guarded({count}, compute());
    backend().normalize_bytes(guarded({count}, DType::u8, bytes), to, kScale, kShift);
    Values expected;
    Values tolerance;
    for (const double byte : bytes) {
      const double product = byte * static_cast<double>(kScale);
      expected.push_back(product + static_cast<double>(kShift));
      tolerance.push_back(arithmetic_roundoff(compute()) * (product + std::abs(expected.back())) +
                          storage_tolerance(compute(), expected.back()));
    }
    expect_near(to, expected, tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ConversionTest, testing::ValuesIn(op_params(test_devices())),
                         param_name);

}  // namespace
}  // namespace trainbench
