#pragma once

#include <array>
#include <cstddef>

// The transforms of minimal filtering with the interpolation points 0, 1, -1 and infinity: of one
// dimension as structs, of both as transformed(). V: a number or a vector of them.

namespace trainbench::winograd {
// -------------

template <class V, std::size_t N>
using Row = std::array<V, N>;

struct OfPixels {
  template <class V>
  static Row<V, 4> apply(const Row<V, 4>& d) {
    return {d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]};
  }
};
/// Three taps of a kernel.
struct OfTaps {
  template <class V>
  static Row<V, 4> apply(const Row<V, 3>& g) {
    const V ends = g[0] + g[2];
    return {g[0], (ends + g[1]) * 0.5f, (ends - g[1]) * 0.5f, g[2]};
  }
};
/// Two outputs' gradients, which are the taps where the kernel's gradient is the output.
struct OfSlopes {
  template <class V>
  static Row<V, 4> apply(const Row<V, 2>& g) {
    return {g[0], (g[0] + g[1]) * 0.5f, (g[0] - g[1]) * 0.5f, g[1]};
  }
};
struct ToOutputs {
  template <class V>
  static Row<V, 2> apply(const Row<V, 4>& m) {
    return {m[0] + m[1] + m[2], m[1] - m[2] - m[3]};
  }
};
struct ToTaps {
  template <class V>
  static Row<V, 3> apply(const Row<V, 4>& m) {
    return {m[0] + m[1] + m[2], m[1] - m[2], m[1] + m[2] - m[3]};
  }
};

template <class V, std::size_t N>
using Square = std::array<Row<V, N>, N>;

/// The transform of both dimensions.
template <class Transform, std::size_t kOut, class V, std::size_t kIn>
Square<V, kOut> transformed(const Square<V, kIn>& from) {
  std::array<Row<V, kIn>, kOut> half;
  for (std::size_t j = 0; j < kIn; ++j) {
    Row<V, kIn> column;
    for (std::size_t i = 0; i < kIn; ++i) column[i] = from[i][j];
    const Row<V, kOut> out = Transform::apply(column);
    for (std::size_t i = 0; i < kOut; ++i) half[i][j] = out[i];
  }
  Square<V, kOut> to;
  for (std::size_t i = 0; i < kOut; ++i) to[i] = Transform::apply(half[i]);
  return to;
}

}  // namespace trainbench::winograd
