#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "common/core/half.h"

#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

namespace trainbench {

/// Two neighbours along a product's sum: one instruction multiplies them by two others and adds
/// both to a float.
struct BFloat16Pair {
  BFloat16 terms[2];
};

/// A matrix in the cache whose element (i, j) lies at data[i * row + j * column].
template <class U>
struct Strided {
  const U* data;
  std::int64_t row;
  std::int64_t column;
};

/// Vector registers of the target, as many elements of U as they hold.
template <class U>
struct Lanes {
#if defined(__AVX512F__)
  static constexpr std::int64_t kBytes = 64;
  static constexpr int kVectors = 4;  // of a tile's row
#elif defined(__AVX__)
  static constexpr std::int64_t kBytes = 32;
  static constexpr int kVectors = 2;
#else
  static constexpr std::int64_t kBytes = 16;
  static constexpr int kVectors = 2;
#endif
  static constexpr std::int64_t kCount = kBytes / static_cast<std::int64_t>(sizeof(U));
  using Bits = std::conditional_t<std::is_same_v<U, BFloat16Pair>, std::int32_t, U>;
  typedef Bits Vector __attribute__((vector_size(kBytes)));
};

/// In what sums of products of U are kept.
template <class U>
using SumOf = std::conditional_t<std::is_same_v<U, BFloat16Pair>, float, U>;

/// Extents of matrices in the cache are rounded up to this many elements: whole vectors.
inline constexpr std::int64_t kPadding = 16;
constexpr std::int64_t padded(std::int64_t extent) {
  return (extent + kPadding - 1) / kPadding * kPadding;
}

/// One vector from or to memory of any alignment. Copies of whole arrays of vectors would keep the
/// arrays in memory.
template <class U>
typename Lanes<U>::Vector load_vector(const U* from) {
  typename Lanes<U>::Vector vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}
template <class W>
void store_vector(const typename Lanes<W>::Vector& vector, W* to) {
  std::memcpy(to, &vector, sizeof vector);
}

/// sum += left * right, lane by lane.
template <class W>
void multiply_add(W left, const typename Lanes<W>::Vector& right, typename Lanes<W>::Vector& sum) {
  sum += left * right;
}
#if defined(__AVX512BF16__)
inline void multiply_add(BFloat16Pair left, const Lanes<BFloat16Pair>::Vector& right,
                         Lanes<float>::Vector& sum) {
  const __m512i pairs = _mm512_set1_epi32(std::bit_cast<std::int32_t>(left));
  sum = (Lanes<float>::Vector)_mm512_dpbf16_ps((__m512)sum, (__m512bh)pairs, (__m512bh)right);
}
#endif

/// A tile of kRows x kVectors registers of c.
template <bool kAccumulate, int kRows, int kVectors, class U>
inline void product_tile(std::int64_t k, const Strided<U>& a, const U* b, std::int64_t b_row,
                         SumOf<U>* c, std::int64_t c_row) {
  constexpr std::int64_t kCount = Lanes<U>::kCount;
  typename Lanes<SumOf<U>>::Vector sum[kRows][kVectors] = {};
  if constexpr (kAccumulate) {
    for (int i = 0; i < kRows; ++i) {
      for (int j = 0; j < kVectors; ++j) sum[i][j] = load_vector(c + i * c_row + j * kCount);
    }
  }
  for (std::int64_t l = 0; l < k; ++l) {
    typename Lanes<U>::Vector right[kVectors];
    for (int j = 0; j < kVectors; ++j) right[j] = load_vector(b + l * b_row + j * kCount);
    for (int i = 0; i < kRows; ++i) {
      const U left = a.data[i * a.row + l * a.column];
      for (int j = 0; j < kVectors; ++j) multiply_add(left, right[j], sum[i][j]);
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kVectors; ++j) store_vector(sum[i][j], c + i * c_row + j * kCount);
  }
}

template <bool kAccumulate, int kRows, class U>
inline void product_rows(std::int64_t n, std::int64_t k, const Strided<U>& a, const U* b,
                         std::int64_t b_row, SumOf<U>* c, std::int64_t c_row) {
  constexpr std::int64_t kWide = Lanes<U>::kVectors * Lanes<U>::kCount;
  std::int64_t j = 0;
  for (; j + kWide <= n; j += kWide) {
    product_tile<kAccumulate, kRows, Lanes<U>::kVectors>(k, a, b + j, b_row, c + j, c_row);
  }
  for (; j < n; j += Lanes<U>::kCount) {
    product_tile<kAccumulate, kRows, 1>(k, a, b + j, b_row, c + j, c_row);
  }
}

/// c[m, n] = a[m, k] b[k, n], or c += it, on one thread, for matrices that the first caches hold.
/// Rows of b and c are contiguous; n is a multiple of kPadding; k counts elements of U.
template <bool kAccumulate, class U>
void small_product(std::int64_t m, std::int64_t n, std::int64_t k, Strided<U> a, const U* b,
                   std::int64_t b_row, SumOf<U>* c, std::int64_t c_row) {
  std::int64_t i = 0;
  const auto rows = [&](auto count) {
    constexpr int kRows = decltype(count)::value;
    for (; i + kRows <= m; i += kRows) {
      product_rows<kAccumulate, kRows>(n, k, a, b, b_row, c + i * c_row, c_row);
      a.data += kRows * a.row;
    }
  };
  // With its operands a tile of six rows fills the registers of AVX-512, AVX2 and SSE.
  rows(std::integral_constant<int, 6>{});
  rows(std::integral_constant<int, 4>{});
  rows(std::integral_constant<int, 1>{});
}

}  // namespace trainbench
