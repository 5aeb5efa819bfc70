#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "common/core/dtype.h"
#include "common/core/half.h"
#include "common/core/shape.h"

namespace trainbench {

/// The DType of a C++ element type.
template <class T>
constexpr DType dtype_of() {
  using U = std::remove_const_t<T>;
  if constexpr (std::is_same_v<U, double>) return DType::f64;
  if constexpr (std::is_same_v<U, float>) return DType::f32;
  if constexpr (std::is_same_v<U, BFloat16>) return DType::bf16;
  if constexpr (std::is_same_v<U, Float16>) return DType::f16;
  if constexpr (std::is_same_v<U, std::int32_t>) return DType::i32;
  if constexpr (std::is_same_v<U, std::uint8_t>) return DType::u8;
}

/// View of row-major, contiguous elements in some device's memory. Owns nothing. `Void` is `void`
/// or `const void`. A view without data but with a shape is legal on a backend that touches no
/// data.
template <class Void>
struct BasicTensor {
  Void* data = nullptr;
  Shape shape;
  DType dtype = DType::f32;

  BasicTensor() = default;
  BasicTensor(Void* data_in, Shape shape_in, DType dtype_in)
      : data(data_in), shape(shape_in), dtype(dtype_in) {}
  /// A mutable view converts to a constant one.
  template <class Other>
  requires(std::is_const_v<Void> && !std::is_const_v<Other>)
      BasicTensor(const BasicTensor<Other>& other)  // NOLINT: implicit like T* to const T*
      : data(other.data), shape(other.shape), dtype(other.dtype) {}

  std::int64_t elements() const { return shape.elements(); }
  std::size_t bytes() const { return static_cast<std::size_t>(elements()) * size_of(dtype); }

  /// True for a default-constructed view: "no tensor", as optional operands are passed.
  bool absent() const { return data == nullptr && shape.rank() == 0; }

  /// Typed pointer to the elements; the type must be the tensor's.
  template <class T>
  auto as() const {
    require(dtype_of<T>() == dtype, "a tensor is read as its own dtype");
    using Pointer = std::conditional_t<std::is_const_v<Void>, const T*, T*>;
    return static_cast<Pointer>(data);
  }

  /// The same elements under another shape.
  BasicTensor reshaped(Shape new_shape) const {
    require(new_shape.elements() == elements(), "a reshape keeps the number of elements");
    return BasicTensor(data, new_shape, dtype);
  }

  /// `count` elements from `first` on, in row-major order, as a vector.
  BasicTensor range(std::int64_t first, std::int64_t count) const {
    require(first >= 0 && count >= 0 && first + count <= elements(), "a range lies in its tensor");
    using Byte = std::conditional_t<std::is_const_v<Void>, const std::byte, std::byte>;
    Byte* start = data == nullptr
                      ? nullptr
                      : static_cast<Byte*>(data) + static_cast<std::size_t>(first) * size_of(dtype);
    return BasicTensor(start, Shape{count}, dtype);
  }
};

using Tensor = BasicTensor<void>;
using ConstTensor = BasicTensor<const void>;

}  // namespace trainbench
