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

/// Block's interface for loops that convert each element where they use it: faster wherever
/// compilers vectorise the conversion, which they do for all but Float16. What read, load and
/// target give is indexed only.
template <class T>
class Elements : public Block<T> {
 public:
  using Reader = const Wide<T>*;
  using Writer = Wide<T>*;
};

template <>
class Elements<BFloat16> {
 public:
  class Reference {
   public:
    explicit Reference(BFloat16& element) : element_(element) {}
    operator float() const { return widen(element_); }
    Reference& operator=(float value) {
      element_ = BFloat16(value);
      return *this;
    }
    Reference& operator+=(float value) { return *this = *this + value; }

   private:
    BFloat16& element_;
  };
  struct Reader {
    const BFloat16* from = nullptr;
    float operator[](std::int64_t i) const { return widen(from[i]); }
  };
  struct Writer {
    BFloat16* to = nullptr;
    Reference operator[](std::int64_t i) const { return Reference(to[i]); }
  };

  Reader read(const BFloat16* from, std::int64_t) { return {from}; }
  Writer load(BFloat16* from, std::int64_t) { return {from}; }
  Writer target(BFloat16* to) { return {to}; }
  void store(BFloat16*, std::int64_t) {}
};

}  // namespace trainbench
