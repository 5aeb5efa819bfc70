#pragma once

#include <array>
#include <string>
#include <string_view>

#include "common/core/dtype.h"

namespace trainbench {

/// How a product of two numbers of the compute dtype is formed.
enum class MathMode : std::uint8_t {
  exact,  ///< products of the operands as they are, sums in fp32 (fp64 for fp64)
  tf32,   ///< fp32 operands cut to 10 mantissa bits for tensor cores, sums in fp32
};

/// Everything "trained in bf16" means: one value decides storage, arithmetic and loss scaling.
struct Precision {
  std::string_view name;
  DType compute;      ///< storage of weights as used, activations and their gradients
  DType master;       ///< weights as updated, optimizer state, parameter gradients, accumulation
  MathMode math;      ///< arithmetic of matmul and convolution
  bool loss_scaling;  ///< dynamic loss scaling: needed where small gradients underflow

  /// True where the optimizer keeps weights of its own beside those the layers read.
  constexpr bool has_master_copy() const { return compute != master; }
  constexpr bool operator==(const Precision& other) const { return name == other.name; }
};

inline constexpr Precision kFp64{"fp64", DType::f64, DType::f64, MathMode::exact, false};
inline constexpr Precision kFp32{"fp32", DType::f32, DType::f32, MathMode::exact, false};
inline constexpr Precision kTf32{"tf32", DType::f32, DType::f32, MathMode::tf32, false};
inline constexpr Precision kFp16{"fp16", DType::f16, DType::f32, MathMode::exact, true};
inline constexpr Precision kBf16{"bf16", DType::bf16, DType::f32, MathMode::exact, false};

inline constexpr std::array kPrecisions{kFp64, kFp32, kTf32, kFp16, kBf16};

/// The precision of that name; throws InputError that lists the names there are.
const Precision& precision_by_name(std::string_view name);

/// Relative error of an operand as it enters a product. tf32 keeps 10 mantissa bits of an fp32;
/// tensor cores that are handed fp32 ignore the others (PTX ISA, mma with .tf32), which cuts off up
/// to one unit of the last place kept, twice what rounding would.
constexpr double operand_error(MathMode math) { return math == MathMode::tf32 ? 0x1p-10 : 0.0; }

}  // namespace trainbench
