#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "common/core/tensor.h"

namespace trainbench {

/// The type in which elements of T are computed with: float for 16-bit storage.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, double>, double, float>;

/// Elements that a pass converts at a time: input and output blocks stay in the L1 cache.
inline constexpr std::int64_t kBlock = 512;

/// Serial conversions of `count` contiguous elements, rounding to nearest even.
void convert(const Float16* from, float* to, std::int64_t count);
void convert(const BFloat16* from, float* to, std::int64_t count);
void convert(const float* from, Float16* to, std::int64_t count);
void convert(const float* from, BFloat16* to, std::int64_t count);
inline void convert(const float* from, double* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i];
}
inline void convert(const double* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

/// to = from, rounded; same number of elements, any floating-point dtypes.
void cast_elements(int threads, ConstTensor from, Tensor to);

/// One number of the arithmetic's type, rounded to T.
template <class T, class W>
T narrow(W value) {
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    return static_cast<T>(value);
  } else {
    return T(static_cast<float>(value));
  }
}
template <class T>
Wide<T> widen(T value) {
  return static_cast<Wide<T>>(value);
}

/// Copies of `count` elements in the other type of T and Wide<T>.
template <class T>
void widen(const T* from, Wide<T>* to, std::int64_t count) {
  if constexpr (std::is_same_v<T, Wide<T>>) {
    std::copy(from, from + count, to);
  } else {
    convert(from, to, count);
  }
}
template <class T>
void narrow(const Wide<T>* from, T* to, std::int64_t count) {
  if constexpr (std::is_same_v<T, Wide<T>>) {
    std::copy(from, from + count, to);
  } else {
    convert(from, to, count);
  }
}

/// Up to kBlock elements of T as Wide<T>: the elements themselves where that is the same type, else
/// converted copies.
template <class T>
class Block {
 public:
  static constexpr bool kDirect = std::is_same_v<T, Wide<T>>;

  const Wide<T>* read(const T* from, std::int64_t count) {
    if constexpr (kDirect) {
      return from;
    } else {
      convert(from, values_, count);
      return values_;
    }
  }
  /// For values to be changed in place and written back.
  Wide<T>* load(T* from, std::int64_t count) {
    if constexpr (kDirect) {
      return from;
    } else {
      convert(from, values_, count);
      return values_;
    }
  }
  void store(T* to, std::int64_t count) {
    if constexpr (!kDirect) convert(values_, to, count);
  }
  /// Where to put values that were not in memory before; then store().
  Wide<T>* target(T* to) {
    if constexpr (kDirect) {
      return to;
    } else {
      return values_;
    }
  }

 private:
  alignas(64) Wide<T> values_[kDirect ? 1 : kBlock];
};

}  // namespace trainbench
