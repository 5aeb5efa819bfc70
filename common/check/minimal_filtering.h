#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "common/check/bounds.h"

// Bounds for 3x3 convolutions by minimal filtering of tiles of 4x4 pixels
// (cpu/providers/winograd.h), whose rounding errors grow with all numbers of a tile, not with those
// under the kernel alone: an output whose own products are all zero need not be zero. The tiles'
// outputs start at even rows and columns.

namespace trainbench::minimal_filtering {

using Places = std::array<double, 4>;
using TilePlaces = std::array<Places, 4>;

// The transforms' coefficients in magnitude: nothing cancels in them.
inline Places of_pixels(const std::array<double, 4>& d) {
  return {d[0] + d[2], d[1] + d[2], d[1] + d[2], d[1] + d[3]};
}
inline Places of_taps(const std::array<double, 3>& g) {
  const double half = (g[0] + g[1] + g[2]) / 2;
  return {g[0], half, half, g[2]};
}
inline Places of_slopes(const std::array<double, 2>& g) {
  return {g[0], (g[0] + g[1]) / 2, (g[0] + g[1]) / 2, g[1]};
}
/// Whether output 0 or 1 of a tile takes part of a place; and a tap of the kernel's gradient.
inline constexpr bool kOfOutput[2][4] = {{true, true, true, false}, {false, true, true, true}};
inline constexpr bool kOfTap[3][4] = {
    {true, true, true, false}, {false, true, true, false}, {false, true, true, true}};

/// A transform in both dimensions of at(row, column), whose signs do not matter.
template <std::size_t N, class Transform, class At>
TilePlaces transformed(const Transform& transform, const At& at) {
  std::array<Places, N> rows;
  for (std::size_t i = 0; i < N; ++i) {
    std::array<double, N> row;
    for (std::size_t j = 0; j < N; ++j) row[j] = std::abs(at(i, j));
    rows[i] = transform(row);
  }
  TilePlaces places;
  for (std::size_t j = 0; j < 4; ++j) {
    std::array<double, N> column;
    for (std::size_t i = 0; i < N; ++i) column[i] = rows[i][j];
    const Places out = transform(column);
    for (std::size_t i = 0; i < 4; ++i) places[i][j] = out[i];
  }
  return places;
}

/// Sum of a b over the places that both flags, of rows and of columns, name.
inline double products(const TilePlaces& a, const TilePlaces& b, const bool (&of_row)[4],
                       const bool (&of_column)[4]) {
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      if (of_row[i] && of_column[j]) sum += a[i][j] * b[i][j];
    }
  }
  return sum;
}

/// Error of an element that sums `terms` products at each place, with transforms whose additions
/// are ten more on the way; `magnitude` is the sum of products() over the terms.
inline double error(std::int64_t terms, double magnitude) {
  return summation_error(terms + 10, DType::f32, magnitude);
}

}  // namespace trainbench::minimal_filtering
