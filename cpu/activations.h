#pragma once

#include <cstdint>

#include "cpu/convert.h"
#include "cpu/vector_math.h"

namespace trainbench {

/// The activations on at most kBlock values in the L1 cache. For its backward pass ReLU keeps one
/// byte an element, 1 where the gradient passes, the others their argument.

/// x = max(x, 0), where a NaN stays one; `passes` may be null.
template <class T>
void relu_forward(T* x, std::uint8_t* passes, std::int64_t count) {
  if (passes != nullptr) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) passes[i] = x[i] <= 0 ? 0 : 1;
  }
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) x[i] = x[i] <= 0 ? T{0} : x[i];
}

template <class T>
void relu_backward(const std::uint8_t* passes, T* dx, std::int64_t count) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) dx[i] = passes[i] != 0 ? dx[i] : T{0};
}

/// GELU's tanh form as x s(2u), with the logistic function s and u = sqrt(2/pi) (x + 0.044715 x^3):
/// unlike in 1 + tanh(u) nothing cancels for negative x.
template <class T>
struct Gelu {
  static constexpr T kTwiceScale = static_cast<T>(2 * 0.79788456080286535588);
  static constexpr T kCubic = static_cast<T>(0.044715);

  /// s(2u) of x.
  static void logistic(const T* x, T* s, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      s[i] = T{1} / (T{1} + vector_exp(-kTwiceScale * x[i] * (T{1} + kCubic * x[i] * x[i])));
    }
  }

  static void forward(T* x, std::int64_t count) {
    alignas(64) T s[kBlock];
    logistic(x, s, count);
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) x[i] *= s[i];
  }

  static void backward(const T* x, T* dx, std::int64_t count) {
    alignas(64) T s[kBlock];
    logistic(x, s, count);
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      const T slope = kTwiceScale * (T{1} + 3 * kCubic * x[i] * x[i]);
      dx[i] *= s[i] + x[i] * s[i] * (T{1} - s[i]) * slope;
    }
  }
};

/// SiLU is x s(x), with the logistic function s.
template <class T>
struct Silu {
  static T logistic(T x) { return T{1} / (T{1} + vector_exp(-x)); }
  static T slope(T x) {
    const T s = logistic(x);
    return s + x * s * (T{1} - s);
  }

  static void forward(T* x, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) x[i] *= logistic(x[i]);
  }

  static void backward(const T* x, T* dx, std::int64_t count) {
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) dx[i] *= slope(x[i]);
  }
};

}  // namespace trainbench
