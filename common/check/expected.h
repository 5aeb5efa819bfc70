#pragma once

#include <cmath>
#include <limits>
#include <string>

#include "common/check/bounds.h"
#include "common/operations.h"

namespace trainbench {

/// `exact` as it is after being stored.
inline Expected stored(DType dtype, const Expected& exact) {
  return {exact.value, exact.bound + rounding_error(dtype, exact.value)};
}

/// The product of two uncertain factors, rounded as `dtype`'s accumulator is.
inline Expected times(const Expected& a, const Expected& b, DType dtype) {
  // 0 * Inf: whether a device multiplies by the derivative 0 or leaves the element out is its own.
  if (b.value == 0 && !std::isfinite(a.value)) {
    return {0, std::numeric_limits<double>::infinity()};
  }
  const double value = a.value * b.value;
  const double u = working_roundoff(accumulator_of(dtype));
  return {value, std::abs(a.value) * b.bound + std::abs(b.value) * a.bound + a.bound * b.bound +
                     u * std::abs(value)};
}

/// The sum of two, likewise.
inline Expected plus(const Expected& a, const Expected& b, DType dtype) {
  const double value = a.value + b.value;
  return {value, a.bound + b.bound + working_roundoff(accumulator_of(dtype)) * std::abs(value)};
}

/// An operation as the check's report names it: "add_bias bf16".
inline std::string named(const char* operation, DType dtype) {
  return std::string(operation) + " " + std::string(name_of(dtype));
}
inline std::string named(const char* operation, Activation activation, DType dtype) {
  return named(operation, dtype) + " " + std::string(name_of(activation));
}

}  // namespace trainbench
