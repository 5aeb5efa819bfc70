#include <cstdint>

#include "gpu/peak_loops.h"

namespace trainbench::gpu {
namespace {

constexpr int kThreads = 256;
constexpr int kChains = 8;    // independent accumulators: enough to hide an instruction's latency
constexpr int kRepeats = 32;  // instructions of each chain in a round

/// Never equal to a loop's result, as the compiler cannot know.
constexpr double kImpossible = -1.2345e30;

// ---- FMA
// -----------------------------------------------------------------------------------------

template <class T>
__global__ void __launch_bounds__(kThreads) fma_kernel(T factor, T summand, int rounds, T* sink) {
  T x[kChains];
#pragma unroll
  for (int chain = 0; chain < kChains; ++chain) {
    x[chain] = static_cast<T>(threadIdx.x + chain) * T(1e-3);
  }
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain) x[chain] = x[chain] * factor + summand;
    }
  }
  T sum = 0;
#pragma unroll
  for (int chain = 0; chain < kChains; ++chain) sum += x[chain];
  if (sum == static_cast<T>(kImpossible)) *sink = sum;
}

template <class T>
void launch_fma(cudaStream_t stream, int blocks, int rounds, void* sink) {
  // Converges to 1: no overflow, no zeros, no subnormals.
  fma_kernel<T><<<blocks, kThreads, 0, stream>>>(T(0.75), T(0.25), rounds, static_cast<T*>(sink));
}

// ---- mma.sync
// ------------------------------------------------------------------------------------

struct Tf32 {
  static constexpr int kDepth = 8;
  static constexpr std::uint32_t kOnes = 0x3f800000;  // 1.0f
  static constexpr std::uint32_t kSign = 0x80000000;
};
struct Half {
  static constexpr int kDepth = 16;
  static constexpr std::uint32_t kOnes = 0x3c003c00;  // two halves of 1.0
  static constexpr std::uint32_t kSign = 0x80008000;
};
struct Bfloat {
  static constexpr int kDepth = 16;
  static constexpr std::uint32_t kOnes = 0x3f803f80;
  static constexpr std::uint32_t kSign = 0x80008000;
};

#define TRAINBENCH_MMA(SHAPE_AND_TYPES)                                             \
  asm volatile("mma.sync.aligned." SHAPE_AND_TYPES                                  \
               " {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n" \
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                     \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]))

__device__ void mma(Tf32, float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  TRAINBENCH_MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
}
__device__ void mma(Half, float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  TRAINBENCH_MMA("m16n8k16.row.col.f32.f16.f16.f32");
}
__device__ void mma(Bfloat, float (&c)[4], const std::uint32_t (&a)[4],
                    const std::uint32_t (&b)[2]) {
  TRAINBENCH_MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
}
#undef TRAINBENCH_MMA

template <class Type>
__global__ void __launch_bounds__(kThreads) mma_kernel(int rounds, float* sink) {
#if __CUDA_ARCH__ >= 800
  // Ones of mixed signs: sums stay near zero and operands are not.
  std::uint32_t a[4];
  std::uint32_t b[2];
#pragma unroll
  for (int i = 0; i < 4; ++i) a[i] = Type::kOnes ^ ((threadIdx.x >> i & 1u) * Type::kSign);
#pragma unroll
  for (int i = 0; i < 2; ++i) b[i] = Type::kOnes ^ ((threadIdx.x >> (i + 2) & 1u) * Type::kSign);
  float c[kChains][4] = {};
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain) mma(Type{}, c[chain], a, b);
    }
  }
  float sum = 0;
#pragma unroll
  for (int chain = 0; chain < kChains; ++chain) sum += c[chain][0] + c[chain][3];
  if (sum == static_cast<float>(kImpossible)) *sink = sum;
#endif
}

template <class Type>
void launch_mma(cudaStream_t stream, int blocks, int rounds, void* sink) {
  mma_kernel<Type><<<blocks, kThreads, 0, stream>>>(rounds, static_cast<float*>(sink));
}

// ---- mma.sync in double precision
// ----------------------------------------------------------------

__global__ void __launch_bounds__(kThreads) mma_double_kernel(int rounds, double* sink) {
#if __CUDA_ARCH__ >= 800
  const double a = (threadIdx.x & 1u) != 0 ? 1.0 : -1.0;
  const double b = (threadIdx.x & 2u) != 0 ? 1.0 : -1.0;
  double c[kChains][2] = {};
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
#pragma unroll
      for (int chain = 0; chain < kChains; ++chain) {
        asm volatile(
            "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};\n"
            : "+d"(c[chain][0]), "+d"(c[chain][1])
            : "d"(a), "d"(b));
      }
    }
  }
  double sum = 0;
#pragma unroll
  for (int chain = 0; chain < kChains; ++chain) sum += c[chain][0] + c[chain][1];
  if (sum == kImpossible) *sink = sum;
#endif
}

void launch_mma_double(cudaStream_t stream, int blocks, int rounds, void* sink) {
  mma_double_kernel<<<blocks, kThreads, 0, stream>>>(rounds, static_cast<double*>(sink));
}

template <class T>
PeakLoop fma_loop() {
  return {launch_fma<T>, 2.0 * kThreads * kChains * kRepeats, 4};
}

template <class Type>
PeakLoop mma_loop() {
  constexpr int kWarps = kThreads / 32;
  return {launch_mma<Type>, 2.0 * 16 * 8 * Type::kDepth * kWarps * kChains * kRepeats, 4};
}

PeakLoop mma_double_loop() {
  constexpr int kWarps = kThreads / 32;
  return {launch_mma_double, 2.0 * 8 * 8 * 4 * kWarps * kChains * kRepeats, 4};
}

}  // namespace

PeakLoop peak_loop(const Precision& precision, int major) {
  // Tensor cores double the rate of fp64 on A100 (8.0) and H100 (9.0); on other 8.x devices they
  // and FMA are alike.
  if (precision == kFp64) {
    return major == 8   ? mma_double_loop()
           : major == 9 ? peak_loop_sm90a(precision)
                        : fma_loop<double>();
  }
  if (precision == kFp32) return fma_loop<float>();
  if (major == 9) return peak_loop_sm90a(precision);
  if (major != 8 && major != 12) return {};
  if (precision == kTf32) return mma_loop<Tf32>();
  if (precision == kFp16) return mma_loop<Half>();
  return mma_loop<Bfloat>();
}

}  // namespace trainbench::gpu
