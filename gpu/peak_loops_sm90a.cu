#include <cstdint>

#include "gpu/peak_loops.h"

// Instructions that only compute capability 9.0 has; compiled for sm_90a alone. wgmma is the one
// way to its tensor-core peak. A warpgroup of 128 threads multiplies A[64, depth], in registers, by
// B[depth, 128], in shared memory, which at this width is read at half of what shared memory
// delivers.

namespace trainbench::gpu {
namespace {

constexpr int kWarpgroups = 2;  // of a block
constexpr int kThreads = 128 * kWarpgroups;
constexpr int kRows = 64;
constexpr int kColumns = 128;
constexpr int kAccumulators = kRows * kColumns / 128;  // of a thread
constexpr int kRepeats = 32;                           // instructions of a warpgroup in a round
constexpr int kDoubleChains = 4;                       // independent fp64 accumulators of a warp
constexpr int kRowBytes = 32;                          // of B^T: kDepth elements

constexpr double kImpossible = -1.2345e30;  // see peak_loops.cu

struct Tf32 {
  static constexpr int kDepth = 8;
  static constexpr std::uint32_t kOnes = 0x3f800000;
  static constexpr std::uint32_t kSign = 0x80000000;
};
struct Half {
  static constexpr int kDepth = 16;
  static constexpr std::uint32_t kOnes = 0x3c003c00;
  static constexpr std::uint32_t kSign = 0x80008000;
};
struct Bfloat {
  static constexpr int kDepth = 16;
  static constexpr std::uint32_t kOnes = 0x3f803f80;
  static constexpr std::uint32_t kSign = 0x80008000;
};

/// Descriptor of B^T in core matrices of 8 rows by 16 bytes, unswizzled: 128 bytes from one to the
/// next along the depth, 256 along the columns (PTX ISA, "Matrix-descriptor").
__device__ std::uint64_t descriptor_of(const void* shared) {
  const auto address = static_cast<std::uint64_t>(__cvta_generic_to_shared(shared));
  constexpr std::uint64_t kAlongDepth = 128 >> 4;
  constexpr std::uint64_t kAlongColumns = 256 >> 4;
  return (address & 0x3ffff) >> 4 | kAlongDepth << 16 | kAlongColumns << 32;
}

#define TRAINBENCH_ACC4(i) "+f"(c[i]), "+f"(c[i + 1]), "+f"(c[i + 2]), "+f"(c[i + 3])
#define TRAINBENCH_ACC16(i) \
  TRAINBENCH_ACC4(i), TRAINBENCH_ACC4(i + 4), TRAINBENCH_ACC4(i + 8), TRAINBENCH_ACC4(i + 12)
#define TRAINBENCH_WGMMA(SHAPE_AND_TYPES, FLAGS)                                           \
  asm volatile("wgmma.mma_async.sync.aligned." SHAPE_AND_TYPES                             \
               " {%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "  \
               "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, "    \
               "%30, %31, %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, "    \
               "%44, %45, %46, %47, %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, "    \
               "%58, %59, %60, %61, %62, %63}, {%64, %65, %66, %67}, %68, 1, " FLAGS ";\n" \
               : TRAINBENCH_ACC16(0), TRAINBENCH_ACC16(16), TRAINBENCH_ACC16(32),          \
                 TRAINBENCH_ACC16(48)                                                      \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b))

__device__ void wgmma(Tf32, float (&c)[kAccumulators], const std::uint32_t (&a)[4],
                      std::uint64_t b) {
  TRAINBENCH_WGMMA("m64n128k8.f32.tf32.tf32", "1, 1");
}
__device__ void wgmma(Half, float (&c)[kAccumulators], const std::uint32_t (&a)[4],
                      std::uint64_t b) {
  TRAINBENCH_WGMMA("m64n128k16.f32.f16.f16", "1, 1, 0");
}
__device__ void wgmma(Bfloat, float (&c)[kAccumulators], const std::uint32_t (&a)[4],
                      std::uint64_t b) {
  TRAINBENCH_WGMMA("m64n128k16.f32.bf16.bf16", "1, 1, 0");
}
#undef TRAINBENCH_WGMMA
#undef TRAINBENCH_ACC16
#undef TRAINBENCH_ACC4

template <class Type>
__global__ void __launch_bounds__(kThreads, 2) wgmma_kernel(int rounds, float* sink) {
  constexpr int kWords = kColumns * kRowBytes / 4;
  __shared__ alignas(128) std::uint32_t b[kWords];
  for (int i = threadIdx.x; i < kWords; i += kThreads) {
    b[i] = Type::kOnes ^ ((__popc(i) & 1u) * Type::kSign);
  }
  // The tensor cores read shared memory past the caches of ordinary stores.
  asm volatile("fence.proxy.async.shared::cta;\n" ::: "memory");
  __syncthreads();

  std::uint32_t a[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) a[i] = Type::kOnes ^ ((threadIdx.x >> i & 1u) * Type::kSign);
  float c[kAccumulators] = {};
  const std::uint64_t descriptor = descriptor_of(b);
  for (int round = 0; round < rounds; ++round) {
    asm volatile("wgmma.fence.sync.aligned;\n" ::: "memory");
#pragma unroll
    for (int repeat = 0; repeat < kRepeats; ++repeat) wgmma(Type{}, c, a, descriptor);
    asm volatile("wgmma.commit_group.sync.aligned;\n" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;\n" ::: "memory");
  }
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kAccumulators; ++i) sum += c[i];
  if (sum == static_cast<float>(kImpossible)) *sink = sum;
}

/// fp64 has no wgmma; its mma has larger shapes here than on 8.0.
__global__ void __launch_bounds__(kThreads, 2) mma_double_kernel(int rounds, double* sink) {
  const double one = (threadIdx.x & 1u) != 0 ? 1.0 : -1.0;
  const double other = (threadIdx.x & 2u) != 0 ? 1.0 : -1.0;
  double c[kDoubleChains][4] = {};
  for (int round = 0; round < rounds; ++round) {
#pragma unroll
    for (int repeat = 0; repeat < kRepeats; ++repeat) {
#pragma unroll
      for (int chain = 0; chain < kDoubleChains; ++chain) {
        asm volatile(
            "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %5, %4}, "
            "{%4, %5}, {%0, %1, %2, %3};\n"
            : "+d"(c[chain][0]), "+d"(c[chain][1]), "+d"(c[chain][2]), "+d"(c[chain][3])
            : "d"(one), "d"(other));
      }
    }
  }
  double sum = 0;
#pragma unroll
  for (int chain = 0; chain < kDoubleChains; ++chain) sum += c[chain][0] + c[chain][3];
  if (sum == kImpossible) *sink = sum;
}

void launch_mma_double(cudaStream_t stream, int blocks, int rounds, void* sink) {
  mma_double_kernel<<<blocks, kThreads, 0, stream>>>(rounds, static_cast<double*>(sink));
}

template <class Type>
void launch_wgmma(cudaStream_t stream, int blocks, int rounds, void* sink) {
  wgmma_kernel<Type><<<blocks, kThreads, 0, stream>>>(rounds, static_cast<float*>(sink));
}

PeakLoop mma_double_loop() {
  constexpr int kWarps = kThreads / 32;
  return {launch_mma_double, 2.0 * 16 * 8 * 8 * kWarps * kDoubleChains * kRepeats, 2};
}

template <class Type>
PeakLoop wgmma_loop() {
  return {launch_wgmma<Type>, 2.0 * kRows * kColumns * Type::kDepth * kWarpgroups * kRepeats, 2};
}

}  // namespace

PeakLoop peak_loop_sm90a(const Precision& precision) {
  if (precision == kFp64) return mma_double_loop();
  if (precision == kTf32) return wgmma_loop<Tf32>();
  if (precision == kFp16) return wgmma_loop<Half>();
  return wgmma_loop<Bfloat>();
}

}  // namespace trainbench::gpu
