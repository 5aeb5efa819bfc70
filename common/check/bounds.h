#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "common/core/dtype.h"
#include "common/core/precision.h"

namespace trainbench {

/// How far a right result may lie from the exact one. u is the unit roundoff of the arithmetic; all
/// bounds are to first order in u.
///
/// Notation of the comments: fl(x op y) = (x op y)(1 + d), |d| <= u (Higham, "Accuracy and
/// Stability of Numerical Algorithms", 2002, section 2.2).

/// What an exact value should be and how far a computed one may be from it. An infinite bound says
/// that no value is wrong.
struct Expected {
  double value = 0;
  double bound = 0;
};

/// Roundoff of arithmetic in `dtype`, plus that of the reference, which is computed in double:
/// where the device computes in double too, both err alike.
constexpr double working_roundoff(DType dtype) {
  return unit_roundoff(dtype) + unit_roundoff(DType::f64);
}

/// Absolute error of a result near zero. fp16 rounds to its subnormals everywhere; the others may
/// be flushed to zero (as tensor cores and AVX512-BF16 do), which loses up to the smallest normal.
constexpr double underflow_error(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return smallest_subnormal(DType::f16);
    case DType::bf16:
    case DType::f32:
      return 0x1p-126;
    case DType::f64:
      return 0x1p-1022;
    case DType::u8:
    case DType::i32:
      return 0;
  }
  return 0;
}

/// Smallest magnitude that rounds to infinity: the largest finite number plus half its last place.
constexpr double overflow_threshold(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return 65520.0;
    case DType::bf16:
      return 0x1.ffp127;
    case DType::f32:
      return 0x1.ffffffp127;
    default:
      return std::numeric_limits<double>::max();
  }
}

/// Error of storing `value` as `dtype`.
inline double rounding_error(DType dtype, double value) {
  return unit_roundoff(dtype) * std::abs(value) + underflow_error(dtype);
}

/// Spread of sums in units of sqrt(k) u: the constant c below.
inline constexpr double kSpread = 4.0;

/// Error of a sum of k terms whose magnitudes add up to `magnitude`, in whatever order.
///
/// The k - 1 additions each err by d_j s_j, with s_j the partial sum, |s_j| <= magnitude. The worst
/// case, k u magnitude, needs all d_j of one sign and would let tf32 pass as fp32 at k = 2048.
/// Taken as independent, of mean zero and uniform in [-u, u], the d_j are sub-Gaussian with
/// variance proxy u^2 / 3, so by Hoeffding's inequality
///   P(|sum_j d_j s_j| > c sqrt(k) u magnitude) <= 2 exp(-3 c^2 / 2),
/// which for c = 4 is 8e-11 an element even when every partial sum is as large as the whole
/// (compare Higham and Mary, "A new approach to probabilistic rounding error analysis", SIAM J.
/// Sci. Comput. 41(5), 2019). Blocked and lane-wise sums err less.
inline double summation_error(std::int64_t k, DType accumulator, double magnitude) {
  return kSpread * std::sqrt(static_cast<double>(k)) * working_roundoff(accumulator) * magnitude +
         static_cast<double>(k) * underflow_error(accumulator);
}

/// Error of a product's element before it is stored: k terms a b, sum |a b| = `magnitude`.
///
/// - fp32 and fp64: summation_error(). Each product is exact (FMA) or one more rounding of a term
///   that is part of the magnitude. An operand rounded to tf32 errs by about
///   2^-11 sqrt(k/3) rms(a b): for centred operands 1.6 standard deviations of c = 4's bound at
///   k = 784 and 0.8 at k = 2048, so that of 4,096 elements hundreds fail. A test holds that.
/// - tf32: each operand errs by up to operand_error() of itself, whatever the others do (equal
/// values
///   err equally: no square root here).
/// - 16-bit operands on matrix units: sums of at least 8 products at a time are truncated, not
///   rounded, with an error of up to 2 u of the largest summand, always toward zero: k/8 times 2 u
///   (Fasi, Higham, Mikaitis and Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ
///   Computer Science 7:e330, 2021). Their products are exact in fp32.
inline double product_error(std::int64_t k, DType operand, MathMode math, double magnitude) {
  const DType accumulator = accumulator_of(operand);
  double error = summation_error(k, accumulator, magnitude);
  if (math == MathMode::tf32 || size_of(operand) == 2) {
    error += static_cast<double>(k) / 4 * unit_roundoff(accumulator) * magnitude;
  }
  return error + 2 * operand_error(math) * magnitude;
}

/// Roundoff of the arithmetic in GELU on values of `dtype`; its bounds are multiples of 8. For
/// 16-bit values a tanh of 11 bits suffices (PTX's tanh.approx.f32: 2^-11), which enters by half.
constexpr double gelu_roundoff(DType dtype) {
  return size_of(dtype) == 2 ? 0x1p-14 : working_roundoff(dtype);
}

}  // namespace trainbench
