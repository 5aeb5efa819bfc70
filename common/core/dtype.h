#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace trainbench {

/// Element types of a tensor.
enum class DType : std::uint8_t { u8, i32, f16, bf16, f32, f64 };

/// Bytes an element takes.
constexpr std::size_t size_of(DType type) {
  switch (type) {
    case DType::u8:
      return 1;
    case DType::f16:
    case DType::bf16:
      return 2;
    case DType::i32:
    case DType::f32:
      return 4;
    case DType::f64:
      return 8;
  }
  return 0;
}

constexpr std::string_view name_of(DType type) {
  switch (type) {
    case DType::u8:
      return "u8";
    case DType::i32:
      return "i32";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::f32:
      return "f32";
    case DType::f64:
      return "f64";
  }
  return "?";
}

/// The dtype in which operands of `dtype` are summed.
constexpr DType accumulator_of(DType dtype) {
  return dtype == DType::f64 ? DType::f64 : DType::f32;
}

/// Unit roundoff u: rounding to nearest gives fl(x) = x (1 + d) with |d| <= u. Zero for integers.
constexpr double unit_roundoff(DType type) {
  switch (type) {
    case DType::f16:
      return 0x1p-11;
    case DType::bf16:
      return 0x1p-8;
    case DType::f32:
      return 0x1p-24;
    case DType::f64:
      return 0x1p-53;
    case DType::u8:
    case DType::i32:
      return 0;
  }
  return 0;
}

/// Smallest positive number of the type (subnormal); the absolute part of a rounding error bound.
constexpr double smallest_subnormal(DType type) {
  switch (type) {
    case DType::f16:
      return 0x1p-24;
    case DType::bf16:
      return 0x1p-133;
    case DType::f32:
      return 0x1p-149;
    case DType::f64:
      return 0x1p-1074;
    case DType::u8:
    case DType::i32:
      return 0;
  }
  return 0;
}

}  // namespace trainbench
