#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/convert.h"
#include "cpu/small_product.h"

namespace trainbench {

/// Queries and keys of a block of attention: scores of a block lie in the L1 cache.
inline constexpr std::int64_t kTile = 64;

/// How attention's products read operands that are stored as T: as numbers of Wide<T> or, where the
/// CPU multiplies pairs of bf16, as those. `kTerms` neighbours along the sum are one unit.
template <class T>
struct Operand {
  using Unit = Wide<T>;
  static constexpr std::int64_t kTerms = 1;
};
#if defined(__AVX512BF16__)
template <>
struct Operand<BFloat16> {
  using Unit = BFloat16Pair;
  static constexpr std::int64_t kTerms = 2;
};
#endif

/// Units that hold so many terms; the last is filled up with zeros.
template <class T>
constexpr std::int64_t units_of(std::int64_t terms) {
  return (terms + Operand<T>::kTerms - 1) / Operand<T>::kTerms;
}

/// Hands out parts of a thread's workspace; counts only, where there is none yet.
class Cut {
 public:
  explicit Cut(std::byte* start) : start_(start) {}
  template <class U>
  U* take(std::int64_t count) {
    U* const part = start_ == nullptr ? nullptr : reinterpret_cast<U*>(start_ + used_);
    constexpr std::int64_t kLine = 64;
    used_ += (count * static_cast<std::int64_t>(sizeof(U)) + kLine - 1) / kLine * kLine;
    return part;
  }
  std::int64_t bytes() const { return used_; }

 private:
  std::byte* start_;
  std::int64_t used_ = 0;
};

/// Rows [count][units_of(width)], for the left side of a product over the width, from rows of
/// storage that are `stride` apart.
template <class T>
void pack_rows(const T* from, std::int64_t stride, std::int64_t count, std::int64_t width,
               typename Operand<T>::Unit* to) {
  const std::int64_t units = units_of<T>(width);
  for (std::int64_t i = 0; i < count; ++i) {
    if constexpr (Operand<T>::kTerms == 1) {
      widen(from + i * stride, to + i * units, width);
    } else {
      to[(i + 1) * units - 1] = {};
      std::memcpy(static_cast<void*>(to + i * units), from + i * stride,
                  static_cast<std::size_t>(width) * sizeof(T));
    }
  }
}

/// The transpose of packed rows, [units_of(width)][kTile], zero where there are no rows: the right
/// side of a product over the width.
template <class U>
void transpose_rows(const U* rows, std::int64_t count, std::int64_t units, U* to) {
  for (std::int64_t j = 0; j < units; ++j) {
    U* const column = to + j * kTile;
    for (std::int64_t i = 0; i < count; ++i) column[i] = rows[i * units + j];
    std::fill(column + count, column + kTile, U{});
  }
}

/// [units_of(count)][padded(width)] from the same storage: the right side of a product over rows.
template <class T>
void pack_terms(const T* from, std::int64_t stride, std::int64_t count, std::int64_t width,
                typename Operand<T>::Unit* to) {
  using Unit = typename Operand<T>::Unit;
  const std::int64_t length = padded(width);
  for (std::int64_t i = 0; i < units_of<T>(count); ++i) {
    Unit* const row = to + i * length;
    if constexpr (Operand<T>::kTerms == 1) {
      widen(from + i * stride, row, width);
    } else {
      const T* const first = from + 2 * i * stride;
      if (2 * i + 1 < count) {
        for (std::int64_t j = 0; j < width; ++j) row[j] = {{first[j], first[stride + j]}};
      } else {
        for (std::int64_t j = 0; j < width; ++j) row[j] = {{first[j], T{}}};
      }
    }
    std::fill(row + width, row + length, Unit{});
  }
}

/// The rows of scores[kTile][kTile], of which `terms` columns count, as the left side of a product
/// over columns; `kept` is memory for as many units.
template <class W>
Strided<W> score_rows(const W* scores, std::int64_t, std::int64_t, W*) {
  return {scores, kTile, 1};
}
/// Its columns, of which `terms` rows count, as the left side of a product over rows.
template <class W>
Strided<W> score_columns(const W* scores, std::int64_t, W*) {
  return {scores, 1, kTile};
}

#if defined(__AVX512BF16__)
inline Strided<BFloat16Pair> score_rows(const float* scores, std::int64_t rows, std::int64_t terms,
                                        BFloat16Pair* kept) {
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t j = 0; j < terms; j += 32) {
      const float* const from = scores + row * kTile + j;
      const __m512bh both = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + 16), _mm512_loadu_ps(from));
      _mm512_storeu_si512(kept + (row * kTile + j) / 2, (__m512i)both);
    }
  }
  return {kept, kTile / 2, 1};
}

inline Strided<BFloat16Pair> score_columns(const float* scores, std::int64_t terms,
                                           BFloat16Pair* kept) {
  // Of two rows of 16: the first's elements at even places, the second's at odd ones.
  alignas(64) static constexpr auto kPlaces = [] {
    std::array<std::uint16_t, 32> places{};
    for (std::uint16_t i = 0; i < 16; ++i) {
      places[2 * i] = i;
      places[2 * i + 1] = static_cast<std::uint16_t>(16 + i);
    }
    return places;
  }();
  const __m512i places = _mm512_load_si512(kPlaces.data());
  for (std::int64_t row = 0; row < terms; row += 2) {
    for (std::int64_t j = 0; j < kTile; j += 16) {
      const float* const from = scores + row * kTile + j;
      const __m512 second = row + 1 < terms ? _mm512_loadu_ps(from + kTile) : _mm512_setzero_ps();
      const __m512bh both = _mm512_cvtne2ps_pbh(second, _mm512_loadu_ps(from));
      _mm512_storeu_si512(kept + row / 2 * kTile + j,
                          _mm512_permutexvar_epi16(places, (__m512i)both));
    }
  }
  return {kept, 1, kTile};
}
#endif

}  // namespace trainbench
