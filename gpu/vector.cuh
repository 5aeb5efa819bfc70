#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "common/core/dispatch.h"
#include "gpu/kernels.h"
#include "gpu/runtime/check.h"

namespace trainbench::gpu {

// ---- Element types
// -------------------------------------------------------------------------------

template <class T>
struct DeviceElementOf {
  using type = T;
};
template <>
struct DeviceElementOf<Float16> {
  using type = __half;
};
template <>
struct DeviceElementOf<BFloat16> {
  using type = __nv_bfloat16;
};

/// The device's type for a tag of common/core/dispatch.h.
template <class Tag>
using DeviceElement = typename DeviceElementOf<typename Tag::type>::type;

/// What sums and elementwise arithmetic on T are done in.
template <class T>
using Accumulator = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
T* elements_of(const Tensor& tensor) {
  return static_cast<T*>(tensor.data);
}
template <class T>
const T* elements_of(const ConstTensor& tensor) {
  return static_cast<const T*>(tensor.data);
}

template <class To, class From>
__device__ To convert(From value) {
  if constexpr (std::is_same_v<To, From>) {
    return value;
  } else if constexpr (std::is_same_v<From, __half>) {
    return static_cast<To>(__half2float(value));
  } else if constexpr (std::is_same_v<From, __nv_bfloat16>) {
    return static_cast<To>(__bfloat162float(value));
  } else if constexpr (std::is_same_v<To, __half> && std::is_same_v<From, double>) {
    return __double2half(value);
  } else if constexpr (std::is_same_v<To, __half>) {
    return __float2half_rn(static_cast<float>(value));
  } else if constexpr (std::is_same_v<To, __nv_bfloat16> && std::is_same_v<From, double>) {
    return __double2bfloat16(value);
  } else if constexpr (std::is_same_v<To, __nv_bfloat16>) {
    return __float2bfloat16_rn(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

// ---- Vector accesses
// -----------------------------------------------------------------------------

inline constexpr std::size_t kVectorBytes = 16;

/// Elements of a 16-byte access.
template <class T>
inline constexpr int kLanes = static_cast<int>(kVectorBytes / sizeof(T));

/// N neighbours that travel together: in one access where they take at most 16 bytes.
template <class T, int N>
struct alignas(std::min(kVectorBytes, sizeof(T) * N)) Pack {
  T lane[N];

  __device__ static Pack load(const T* from) { return *reinterpret_cast<const Pack*>(from); }
  __device__ void store(T* to) const { *reinterpret_cast<Pack*>(to) = *this; }
};

/// True if all pointers allow 16-byte accesses; null pointers do.
template <class... Pointers>
bool aligned(Pointers... pointers) {
  return ((reinterpret_cast<std::uintptr_t>(pointers) % kVectorBytes == 0) && ...);
}

/// True if rows of so many elements, one after the other from each of the pointers, are whole
/// 16-byte accesses.
template <class T, class... Pointers>
bool whole_packs(std::int64_t columns, Pointers... pointers) {
  return columns % kLanes<T> == 0 && aligned(pointers...);
}

template <int N>
using Width = std::integral_constant<int, N>;

/// Calls `f` with Width<4> or, where the pointers do not allow it, with Width<1>.
template <class F>
void dispatch_width(bool vector, F&& f) {
  if (vector) {
    f(Width<4>{});
  } else {
    f(Width<1>{});
  }
}

/// The same with 16 bytes of T's.
template <class T, class F>
void dispatch_vector(bool vector, F&& f) {
  if (vector) {
    f(Width<kLanes<T>>{});
  } else {
    f(Width<1>{});
  }
}

// ---- Loops
// ---------------------------------------------------------------------------------------

inline constexpr int kBlock = 256;

/// Blocks for `work` threads' worth of work: enough to fill the device several times over, so that
/// the last ones to finish weigh little; the loops below stride over the rest.
inline unsigned grid_size(const Queue& queue, std::int64_t work, int block = kBlock) {
  const std::int64_t blocks = (work + block - 1) / block;
  return static_cast<unsigned>(std::clamp<std::int64_t>(blocks, 1, 16 * queue.units));
}

/// Over [0, count): f(Width<N>, i) for whole packs, f(Width<1>, i) for what is left at the end.
template <int N, class F>
__device__ void for_packs(std::int64_t count, F f) {
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t packed = count / N * N;
  for (std::int64_t i = first * N; i < packed; i += stride * N) f(Width<N>{}, i);
  if constexpr (N > 1) {
    for (std::int64_t i = packed + first; i < count; i += stride) f(Width<1>{}, i);
  }
}

// ---- Rows and columns
// ----------------------------------------------------------------------------

inline constexpr int kRowsPerBlock = kBlock / 32;

/// A warp covers 32 packs of one row; the warps of a block take rows of their own.
struct Grid2 {
  dim3 blocks;
  dim3 threads{32, kRowsPerBlock};
};

inline Grid2 grid_over(const Queue& queue, std::int64_t rows, std::int64_t packs) {
  const std::int64_t across = std::clamp<std::int64_t>((packs + 31) / 32, 1, 1024);
  const std::int64_t down = (rows + kRowsPerBlock - 1) / kRowsPerBlock;
  const std::int64_t most = std::max<std::int64_t>(16 * queue.units / across, 1);
  return {.blocks = dim3(static_cast<unsigned>(across),
                         static_cast<unsigned>(std::clamp<std::int64_t>(down, 1, most)))};
}

/// Calls f(row, pack) for all rows and packs, in a grid made by grid_over.
template <class F>
__device__ void for_rows(std::int64_t rows, std::int64_t packs, F f) {
  for (std::int64_t row = blockIdx.y * kRowsPerBlock + threadIdx.y; row < rows;
       row += static_cast<std::int64_t>(gridDim.y) * kRowsPerBlock) {
    for (std::int64_t pack = blockIdx.x * 32 + threadIdx.x; pack < packs;
         pack += static_cast<std::int64_t>(gridDim.x) * 32) {
      f(row, pack);
    }
  }
}

// ---- Reductions: trees of fixed shape, so that equal inputs give equal bits
// -----------------------

struct Add {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return a + b;
  }
};

struct Max {
  __device__ float operator()(float a, float b) const { return fmaxf(a, b); }
  __device__ double operator()(double a, double b) const { return fmax(a, b); }
};

/// The combination of a warp's values, in all its lanes.
template <class T, class Combine>
__device__ T reduce_warp(T value, Combine combine) {
#pragma unroll
  for (int offset = 16; offset > 0; offset /= 2) {
    value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

/// The combination of the values of kThreads neighbouring threads (a warp, or a block of kBlock),
/// in all of them.
template <int kThreads, class T, class Combine>
__device__ T reduce_group(T value, Combine combine) {
  static_assert(kThreads == 32 || kThreads == kBlock);
  value = reduce_warp(value, combine);
  if constexpr (kThreads == kBlock) {
    constexpr int kWarps = kBlock / 32;
    __shared__ T partial[kWarps];
    __syncthreads();  // an earlier reduction may still be read
    if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
    __syncthreads();
    value = partial[0];
#pragma unroll
    for (int warp = 1; warp < kWarps; ++warp) value = combine(value, partial[warp]);
  }
  return value;
}

}  // namespace trainbench::gpu
