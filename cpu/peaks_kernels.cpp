#include "cpu/peaks_kernels.h"

#include <cstddef>
#include <utility>

#include "common/core/tensor.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(__AMX_BF16__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace trainbench {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t kVectorBytes = 64;
constexpr const char* kInstruction = "AVX-512 FMA";
#elif defined(__AVX__) && defined(__FMA__)
constexpr std::size_t kVectorBytes = 32;
constexpr const char* kInstruction = "AVX2 FMA";
#elif defined(__aarch64__)
constexpr std::size_t kVectorBytes = 16;
constexpr const char* kInstruction = "NEON FMA";
#else
constexpr std::size_t kVectorBytes = 16;
constexpr const char* kInstruction = "128-bit multiply and add";
#endif

// A core finishes two to four operations a cycle, each four or five cycles after it began: as many
// independent accumulators as the registers hold beside two operands keep all units busy.
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr std::size_t kAccumulators = 24;
#else
constexpr std::size_t kAccumulators = 12;
#endif

bool always() { return true; }

/// Hides a value from the optimizer, which could otherwise compute the loop itself.
template <class T>
T opaque(double value) {
  volatile double hidden = value;
  return static_cast<T>(hidden);
}

template <class T, std::size_t kBytes>
struct VectorOf {
  typedef T Type __attribute__((vector_size(kBytes)));
};

template <class T>
double sum_of(typename VectorOf<T, kVectorBytes>::Type vector) {
  double sum = 0;
  for (std::size_t lane = 0; lane < kVectorBytes / sizeof(T); ++lane) {
    sum += static_cast<double>(vector[lane]);
  }
  return sum;
}

/// x = 3/4 x + 1/4: moves towards 1 from any start and never leaves the normal numbers.
template <class T>
struct FmaStep {
  using Element = T;
  using Vector = typename VectorOf<T, kVectorBytes>::Type;
  static constexpr double kFlops = 2.0 * kVectorBytes / sizeof(T);

  const Vector factor = Vector{} + opaque<T>(0.75);
  const Vector term = Vector{} + opaque<T>(0.25);

  Vector start(std::size_t index) const { return Vector{} + opaque<T>(1.0 + 0.01 * index); }
  Vector operator()(Vector x) const { return x * factor + term; }

  static double expected(std::int64_t) { return 1; }
};

#if defined(__AVX512BF16__)
/// x += 3/2 3/4 - 5/4 7/8, which adds 1/32: exact until x reaches 2^19.
struct DotBf16Step {
  using Element = float;
  using Vector = VectorOf<float, 64>::Type;
  static constexpr double kFlops = 2.0 * 32;

  static __m512bh pair(float low, float high) {
    const auto bits = static_cast<std::uint32_t>(BFloat16(opaque<float>(low)).bits) |
                      static_cast<std::uint32_t>(BFloat16(opaque<float>(high)).bits) << 16;
    return (__m512bh)_mm512_set1_epi32(static_cast<int>(bits));
  }
  const __m512bh a = pair(1.5f, 1.25f);
  const __m512bh b = pair(0.75f, -0.875f);

  Vector start(std::size_t) const { return Vector{} + opaque<float>(0); }
  Vector operator()(Vector x) const { return (Vector)_mm512_dpbf16_ps((__m512)x, a, b); }

  static double expected(std::int64_t rounds) { return static_cast<double>(rounds) / 32; }
};
#endif

template <class Step, std::size_t... I>
double run_steps(std::int64_t rounds, std::index_sequence<I...>) {
  const Step step;
  typename Step::Vector x[] = {step.start(I)...};
  for (std::int64_t round = 0; round < rounds; ++round) ((x[I] = step(x[I])), ...);
  return (sum_of<typename Step::Element>(x[I]) + ...);
}

template <class Step>
PeakKernel kernel(const char* precision, const char* instruction, double roundoff) {
  return {precision,
          instruction,
          Step::kFlops * kAccumulators,
          roundoff,
          always,
          [](std::int64_t rounds) {
            return run_steps<Step>(rounds, std::make_index_sequence<kAccumulators>{});
          },
          [](std::int64_t rounds) {
            constexpr double kLanes = kVectorBytes / sizeof(typename Step::Element);
            return kLanes * kAccumulators * Step::expected(rounds);
          }};
}

#if defined(__AMX_BF16__)
constexpr int kTiles = 6;  // accumulators; two more tiles hold the operands
constexpr double kTileElements = 16 * 16;

/// Linux grants the tile registers to a process that asks: arch_prctl(2), x86/xstate.rst.
bool amx_granted() {
  constexpr int kArchReqXcompPerm = 0x1023;
  constexpr int kTileData = 18;
  static const bool granted = syscall(SYS_arch_prctl, kArchReqXcompPerm, kTileData) == 0;
  return granted;
}

/// Each round and tile: x[16, 16] += a[16, 32] b[32, 16], whose pairs add 1/32 as DotBf16Step's do.
double run_amx(std::int64_t rounds) {
  struct alignas(64) {
    std::uint8_t palette = 1;
    std::uint8_t start_row = 0;
    std::uint8_t reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  } config;
  alignas(64) BFloat16 a[16 * 32];
  alignas(64) BFloat16 b[16 * 32];
  for (int i = 0; i < 16 * 32; ++i) {
    a[i] = BFloat16(opaque<float>(i % 2 == 0 ? 1.5 : 1.25));
    b[i] = BFloat16(opaque<float>(i % 2 == 0 ? 0.75 : -0.875));
  }
  _tile_loadconfig(&config);
  _tile_loadd(6, a, 64);
  _tile_loadd(7, b, 64);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_zero(4);
  _tile_zero(5);
  for (std::int64_t round = 0; round < rounds; ++round) {
    _tile_dpbf16ps(0, 6, 7);
    _tile_dpbf16ps(1, 6, 7);
    _tile_dpbf16ps(2, 6, 7);
    _tile_dpbf16ps(3, 6, 7);
    _tile_dpbf16ps(4, 6, 7);
    _tile_dpbf16ps(5, 6, 7);
  }
  alignas(64) float x[kTiles][16 * 16];
  _tile_stored(0, x[0], 64);
  _tile_stored(1, x[1], 64);
  _tile_stored(2, x[2], 64);
  _tile_stored(3, x[3], 64);
  _tile_stored(4, x[4], 64);
  _tile_stored(5, x[5], 64);
  _tile_release();
  double sum = 0;
  for (const auto& tile : x) {
    for (const float element : tile) sum += static_cast<double>(element);
  }
  return sum;
}
#endif

}  // namespace

const std::vector<PeakKernel>& peak_kernels() {
  static const std::vector<PeakKernel> kernels = {
    kernel<FmaStep<double>>("fp64", kInstruction, unit_roundoff(DType::f64)),
    kernel<FmaStep<float>>("fp32", kInstruction, unit_roundoff(DType::f32)),
#if defined(__AVX512FP16__)
    kernel<FmaStep<_Float16>>("fp16", "AVX-512 FP16 FMA", unit_roundoff(DType::f16)),
#endif
#if defined(__AVX512BF16__)
    kernel<DotBf16Step>("bf16", "AVX-512 VDPBF16PS", unit_roundoff(DType::f32)),
#endif
#if defined(__AMX_BF16__)
    {"bf16", "AMX TDPBF16PS", kTiles * 2 * kTileElements * 32, unit_roundoff(DType::f32),
     amx_granted, run_amx,
     [](std::int64_t rounds) {
       return kTiles * kTileElements * 16 * static_cast<double>(rounds) / 32;
     }},
#endif
  };
  return kernels;
}

}  // namespace trainbench
