#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "common/core/tensor.h"

namespace trainbench {

/// Carries an element type into a generic lambda: `typename decltype(tag)::type`.
template <class T>
using TypeTag = std::type_identity<T>;

/// Calls `f` with the tag of any element type.
template <class F>
decltype(auto) dispatch_any(DType dtype, F&& f) {
  switch (dtype) {
    case DType::u8:
      return std::forward<F>(f)(TypeTag<std::uint8_t>{});
    case DType::i32:
      return std::forward<F>(f)(TypeTag<std::int32_t>{});
    case DType::f16:
      return std::forward<F>(f)(TypeTag<Float16>{});
    case DType::bf16:
      return std::forward<F>(f)(TypeTag<BFloat16>{});
    case DType::f32:
      return std::forward<F>(f)(TypeTag<float>{});
    case DType::f64:
      return std::forward<F>(f)(TypeTag<double>{});
  }
  throw std::logic_error("a dtype outside the enumeration");
}

/// Calls `f` with the tag of a floating-point element type; integers are a broken precondition.
template <class F>
decltype(auto) dispatch_float(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f16:
      return std::forward<F>(f)(TypeTag<Float16>{});
    case DType::bf16:
      return std::forward<F>(f)(TypeTag<BFloat16>{});
    case DType::f32:
      return std::forward<F>(f)(TypeTag<float>{});
    case DType::f64:
      return std::forward<F>(f)(TypeTag<double>{});
    case DType::u8:
    case DType::i32:
      break;
  }
  throw std::logic_error("a floating-point operand is needed, not " + std::string(name_of(dtype)));
}

}  // namespace trainbench
