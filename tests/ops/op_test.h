#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "common/backend.h"
#include "common/check/random_tensor.h"

namespace trainbench {

/// A device that the conformance tests run on, and what it computes in.
struct TestDevice {
  std::string name;
  std::vector<Precision> precisions;
  std::function<std::unique_ptr<Backend>()> make;
};

/// The devices of this test program, and the same with each library that multiplies matrices. One
/// source file for the CPU and one for the GPU define them.
std::vector<TestDevice> test_devices();
std::vector<TestDevice> test_devices_by_provider();

struct OpParam {
  TestDevice device;
  Precision precision;
};

inline std::vector<OpParam> op_params(const std::vector<TestDevice>& devices) {
  std::vector<OpParam> params;
  for (const TestDevice& device : devices) {
    for (const Precision& precision : device.precisions) params.push_back({device, precision});
  }
  return params;
}

inline std::string to_string(const OpParam& param) {
  return param.device.name + "_" + std::string(param.precision.name);
}
/// For GoogleTest's messages.
inline void PrintTo(const OpParam& param, std::ostream* out) { *out << to_string(param); }

inline std::string param_name(const testing::TestParamInfo<OpParam>& info) {
  return to_string(info.param);
}

using Values = std::vector<double>;

/// A device, a precision, and what all operations' tests need.
class OpTest : public testing::TestWithParam<OpParam> {
 protected:
  void SetUp() override {
    backend_ = GetParam().device.make();
    backend_->require_precision(precision());
  }

  const Precision& precision() const { return GetParam().precision; }
  DType compute() const { return precision().compute; }
  DType master() const { return precision().master; }
  Backend& backend() { return *backend_; }

  /// A tensor whose first element is not aligned and whose neighbours are watched: operations take
  /// any range of a larger buffer and write nothing outside it.
  Tensor guarded(Shape shape, DType dtype) {
    const std::int64_t count = shape.elements();
    const Tensor buffer =
        backend_->allocate(Shape{count + 2 * kMargin + 1}, dtype, MemoryKind::workspace);
    write_values(*backend_, buffer, Values(static_cast<std::size_t>(buffer.elements()), kSentinel));
    buffers_.push_back(buffer);
    return buffer.range(kMargin + 1, count).reshaped(shape);
  }
  Tensor guarded(Shape shape, DType dtype, const Values& values) {
    const Tensor tensor = guarded(shape, dtype);
    write_values(*backend_, tensor, values);
    return tensor;
  }
  /// Numbers uniform in [low, high), other ones each time.
  Tensor random(Shape shape, DType dtype, double low = -1, double high = 1) {
    return guarded(shape, dtype, random_values(shape.elements(), ++stream_, low, high));
  }

  Values values(ConstTensor tensor) { return read_values(*backend_, tensor); }

  /// Each element lies within its tolerance of what is expected; NaN and Inf must be the same.
  void expect_near(ConstTensor tensor, const Values& expected, const Values& tolerance) {
    const Values actual = values(tensor);
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      if (std::isfinite(expected[i])) {
        ASSERT_NEAR(actual[i], expected[i], tolerance[i]) << "element " << i;
      } else if (std::isnan(expected[i])) {
        ASSERT_TRUE(std::isnan(actual[i])) << "element " << i << " is " << actual[i];
      } else {
        ASSERT_EQ(actual[i], expected[i]) << "element " << i;
      }
    }
  }
  void expect_equal(ConstTensor tensor, const Values& expected) {
    expect_near(tensor, expected, Values(expected.size(), 0));
  }

  void TearDown() override {
    for (const Tensor& buffer : buffers_) {
      const Values all = values(buffer);
      const Values first(all.begin(), all.begin() + kMargin + 1);
      const Values last(all.end() - kMargin, all.end());
      EXPECT_EQ(first, Values(first.size(), kSentinel)) << "written before " << describe(buffer);
      EXPECT_EQ(last, Values(last.size(), kSentinel)) << "written after " << describe(buffer);
    }
  }

 private:
  static constexpr std::int64_t kMargin = 70;
  static constexpr double kSentinel = 3;

  static std::string describe(const Tensor& buffer) {
    return std::to_string(buffer.elements() - 2 * kMargin - 1) + " elements of " +
           std::string(name_of(buffer.dtype));
  }

  std::unique_ptr<Backend> backend_;
  std::vector<Tensor> buffers_;
  std::uint64_t stream_ = 0;
};

// ---- Tolerances ------------------------------------------------------------------------------
//
// Worst cases to first order, with u the unit roundoff (Higham, "Accuracy and Stability of
// Numerical Algorithms", 2002, chapters 2 to 4). The sums of these tests are short enough for them
// to be tight.

/// The type in which operands of `dtype` are summed.
inline DType sum_type(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

/// Roundoff of arithmetic on `dtype`, plus that of the reference in double.
inline double arithmetic_roundoff(DType dtype) {
  return unit_roundoff(sum_type(dtype)) + unit_roundoff(DType::f64);
}

/// Of storing `value` as `dtype`; all but fp16 may flush subnormals to zero.
inline double storage_tolerance(DType dtype, double value) {
  const double smallest = dtype == DType::f16   ? 0x1p-24
                          : dtype == DType::f64 ? 0x1p-1022
                                                : 0x1p-126;
  return unit_roundoff(dtype) * std::abs(value) + smallest;
}

/// Of a sum of `terms` numbers whose magnitudes add up to `magnitude`, in any order: each passes at
/// most terms - 1 additions and the rounding of its own product.
inline double sum_tolerance(DType operand, std::int64_t terms, double magnitude) {
  return static_cast<double>(terms + 1) * arithmetic_roundoff(operand) * magnitude;
}

/// Of a product's element. Matrix units truncate sums, an error of up to 2 u where rounding has u
/// (Fasi, Higham, Mikaitis, Pranesh, PeerJ CS 7:e330, 2021); tf32 cuts each operand to 10 mantissa
/// bits, an error of up to 2^-10.
inline double product_tolerance(const Precision& precision, std::int64_t terms, double magnitude) {
  const bool matrix_unit = size_of(precision.compute) == 2 || precision.math == MathMode::tf32;
  const double sums = sum_tolerance(precision.compute, terms, magnitude);
  const double operands = precision.math == MathMode::tf32 ? 2 * 0x1p-10 * magnitude : 0;
  return sums * (matrix_unit ? 2 : 1) + operands;
}

// ---- Activations by their definitions ----------------------------------------------------------

/// sqrt(2 / pi) (x + 0.044715 x^3), the argument of GELU's tanh, and its slope.
inline double gelu_argument(double x) {
  return std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x);
}
inline double gelu_argument_slope(double x) {
  return std::sqrt(2 / std::acos(-1.0)) * (1 + 3 * 0.044715 * x * x);
}

inline double logistic(double x) { return 1 / (1 + std::exp(-x)); }

inline double activation_value(Activation activation, double x) {
  if (activation == Activation::relu) return x > 0 ? x : 0;
  if (activation == Activation::gelu) return 0.5 * x * (1 + std::tanh(gelu_argument(x)));
  if (activation == Activation::silu) return x * logistic(x);
  return x;
}

inline double activation_slope(Activation activation, double x) {
  if (activation == Activation::relu) return x > 0 ? 1 : 0;
  if (activation == Activation::none) return 1;
  if (activation == Activation::silu) return logistic(x) * (1 + x * logistic(-x));
  const double tanh = std::tanh(gelu_argument(x));
  return 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * gelu_argument_slope(x);
}

/// Of an activation of x, where x is uncertain by `dx`: GELU's slope is below 1.13, and its terms,
/// none above |x|, pass ten roundings; 16-bit values take a tanh of 11 bits. SiLU's slope is below
/// 1.1; exp(-x) errs by 2 u |x| + 4 u of itself, of which the logistic function takes over the part
/// that its complement is, and three roundings follow.
inline double activation_tolerance(Activation activation, DType dtype, double x, double dx) {
  if (activation == Activation::silu) {
    const double relative = logistic(-x) * (2 * std::abs(x) + 4) + 3;
    return 1.1 * dx + arithmetic_roundoff(dtype) * std::abs(x) * logistic(x) * relative;
  }
  if (activation != Activation::gelu) return dx;
  const double tanh_error = size_of(dtype) == 2 ? 0x1p-11 : 10 * arithmetic_roundoff(dtype);
  return 1.13 * dx + tanh_error * std::abs(x);
}

/// Of its slope: GELU's curvature is below 0.8, and 1 - tanh^2 is amplified by x times the
/// argument's slope, until tanh is 1 at |x| = 6. SiLU's curvature is at most 1/2; the logistic
/// function's error as above, below 7 u, enters as it is and times x.
inline double slope_tolerance(Activation activation, DType dtype, double x, double dx) {
  if (activation == Activation::silu) {
    return 0.5 * dx + 7 * arithmetic_roundoff(dtype) * (1 + std::abs(x));
  }
  if (activation != Activation::gelu) return 0;
  const double tanh_error = size_of(dtype) == 2 ? 0x1p-11 : 10 * arithmetic_roundoff(dtype);
  return 0.8 * dx + tanh_error * (1 + std::min(std::abs(x), 6.0) * gelu_argument_slope(x));
}

}  // namespace trainbench
