#pragma once

#include <cstdint>

namespace trainbench {

/// Instruction sets beyond baseline x86-64, as bits.
enum IsaFeature : std::uint32_t {
  kSse42 = 1u << 0,
  kPopcnt = 1u << 1,
  kAvx = 1u << 2,
  kAvx2 = 1u << 3,
  kFma = 1u << 4,
  kBmi2 = 1u << 5,
  kAvx512f = 1u << 6,
  kAvx512dq = 1u << 7,
  kAvx512bw = 1u << 8,
  kAvx512vl = 1u << 9,
  kAvx512ifma = 1u << 10,
  kAvx512vbmi = 1u << 11,
  kAvx512vbmi2 = 1u << 12,
  kAvx512vnni = 1u << 13,
  kAvx512bitalg = 1u << 14,
  kAvx512bf16 = 1u << 15,
  kAvx512fp16 = 1u << 16,
  kAmxBf16 = 1u << 17,
};

/// What this program was compiled for. Constant data: reading it executes nothing of its file.
extern const std::uint32_t kRequiredIsa;

}  // namespace trainbench
