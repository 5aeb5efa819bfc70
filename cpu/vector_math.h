#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace trainbench {

/// exp(x) in a form that loops are vectorised with, which calls of the C library are not. For float
/// off by at most 4 units roundoff; saturates where exp leaves [1.2e-38, 2.4e38]; NaN stays NaN.
/// Range reduction and polynomial are those of Cephes' expf (Moshier, 1992).
inline float vector_exp(float x) {
  x = x > 88.37f ? 88.37f : x;
  x = x < -87.33f ? -87.33f : x;
  // Adding 1.5 * 2^23 rounds to an integer, which then lies in the low bits of the sum.
  constexpr float kRound = 0x1.8p23f;
  const float shifted = x * 1.44269504f + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;  // x - n ln 2
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const auto exponent = (std::bit_cast<std::uint32_t>(shifted) + 127u) << 23;
  return (p * (r * r) + r + 1.0f) * std::bit_cast<float>(exponent);
}

inline double vector_exp(double x) { return std::exp(x); }

}  // namespace trainbench
