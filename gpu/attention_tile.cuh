#pragma once

#include <climits>
#include <cmath>

#include "gpu/gemm/instructions.cuh"
#include "gpu/vector.cuh"

// What attention's kernels share: tiles of a head's rows in shared memory, and the two products of
// such tiles, by tensor cores or by the arithmetic units. A warp works on rows of its own.

namespace trainbench::gpu::attention {

/// Rows of kWidth elements in shared memory. The 16-byte chunks of a row are permuted so that eight
/// rows, or two chunks of every other row of eight, lie in different banks.
template <class T, int kWidthOf>
struct Tile {
  static constexpr int kWidth = kWidthOf;
  static constexpr int kLanes = static_cast<int>(kVectorBytes / sizeof(T));
  static constexpr int kChunks = kWidth / kLanes;
  static_assert(kChunks >= 8);

  T* data;

  __device__ T* chunk(int row, int index) const {
    return data + row * kWidth + (index ^ (row & 7)) * kLanes;
  }
  /// Chunk `fixed` + `low` of a row, `fixed` being even and known to the compiler, `low` 0 or 1: a
  /// few addresses then serve all of a row.
  __device__ T* chunk(int row, int fixed, int low) const {
    return data + row * kWidth + (fixed & ~7) * kLanes + ((fixed & 7) ^ low ^ (row & 7)) * kLanes;
  }
  /// The same rows from a column on that is a multiple of eight chunks.
  __device__ Tile from_column(int column) const { return {data + column}; }
  __device__ T& at(int row, int column) const {
    return chunk(row, column / kLanes)[column % kLanes];
  }
  static constexpr int bytes(int rows) { return rows * kWidth * static_cast<int>(sizeof(T)); }
};

/// Rows of a head in device memory: `count` of them, `stride` apart, `width` elements of each.
template <class T>
struct Rows {
  T* first;
  std::int64_t stride;
  int width;
  bool vector;  ///< rows are whole and aligned 16-byte chunks

  __device__ Rows from(std::int64_t row) const {
    return {first + row * stride, stride, width, vector};
  }
  /// `most` columns from `column` on.
  __device__ Rows part(int column, int most) const {
    return {first + column, stride, min(width - column, most), vector};
  }
};

/// Starts the copy of kRows rows, of which `count` exist, into a tile; the rest becomes zero.
template <int kRows, int kThreads, class T, int kWidth>
__device__ void load_tile(const Tile<T, kWidth>& tile, const Rows<const T>& rows, int count) {
  using Shared = Tile<T, kWidth>;
  for (int i = static_cast<int>(threadIdx.x); i < kRows * Shared::kChunks; i += kThreads) {
    const int row = i / Shared::kChunks;
    const int column = i % Shared::kChunks * Shared::kLanes;
    const int lanes = row < count ? rows.width - column : 0;
    T* const to = tile.chunk(row, i % Shared::kChunks);
    const T* const from = rows.first + row * rows.stride + column;
    if (rows.vector) {
      copy_async(to, lanes > 0 ? from : rows.first, lanes > 0 ? 16 : 0);
    } else {
#pragma unroll
      for (int lane = 0; lane < Shared::kLanes; ++lane) {
        to[lane] = lane < lanes ? from[lane] : convert<T>(0.0f);
      }
    }
  }
}

/// A warp writes kRows rows of a tile, of which `count` exist, to device memory. Only its own lanes
/// wrote them.
template <int kRows, class T, int kWidth>
__device__ void store_rows(const Tile<T, kWidth>& tile, int first_row, const Rows<T>& rows,
                           int count) {
  using Shared = Tile<T, kWidth>;
  __syncwarp();
  for (int i = static_cast<int>(threadIdx.x % 32); i < kRows * Shared::kChunks; i += 32) {
    const int row = i / Shared::kChunks;
    const int column = i % Shared::kChunks * Shared::kLanes;
    if (row >= count || column >= rows.width) continue;
    const T* const from = tile.chunk(first_row + row, i % Shared::kChunks);
    T* const to = rows.first + row * rows.stride + column;
    if (rows.vector) {
      // As one word: a pack's elements would be stored one by one.
      *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
    } else {
      for (int lane = 0; lane < Shared::kLanes && column + lane < rows.width; ++lane) {
        to[lane] = from[lane];
      }
    }
  }
}

// ---- Tensor cores ------------------------------------------------------------------------------

/// Products by mma.sync of 16-bit elements, or of fp32 elements as tf32.
template <class T>
struct TensorMath {
  using Element = T;
  using Sum = float;
  static constexpr int kRows = 16;    ///< of a warp
  static constexpr int kOwnRows = 2;  ///< of a thread, each with a quarter of the columns
  static constexpr int kRowLanes = 4;

  template <int kColumns>
  struct Part {
    float value[kOwnRows][kColumns / kRowLanes];
  };
  /// Row and column of a thread's own (i, j), of scores and of results alike.
  __device__ static int row(int i) { return static_cast<int>(threadIdx.x % 32) / 4 + 8 * i; }
  __device__ static int score_column(int j) {
    return j / 2 * 8 + static_cast<int>(threadIdx.x % 4) * 2 + j % 2;
  }
  __device__ static int result_column(int j) { return score_column(j); }

  /// Elements of shared memory that a warp's weights pass through.
  template <int kColumns>
  static constexpr int kExchange = 0;

  __device__ static float exp2(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
  }

  /// scores[16, kColumns] = rows of `a` from `first_row` on, times rows of `b`.
  template <int kColumns, int kWidth>
  __device__ static void score(Part<kColumns>& scores, const Tile<T, kWidth>& a, int first_row,
                               const Tile<T, kWidth>& b) {
    const auto lane = static_cast<int>(threadIdx.x % 32);
    float sums[kColumns / 8][4] = {};
#pragma unroll
    for (int depth = 0; depth < Tile<T, kWidth>::kChunks; depth += 2) {
      std::uint32_t left[4];
      load_matrices(left, a.chunk(first_row + lane % 16, depth, lane / 16));
#pragma unroll
      for (int column = 0; column < kColumns; column += 16) {
        std::uint32_t right[4];
        load_matrices(right, b.chunk(column + lane / 16 * 8 + lane % 8, depth, lane / 8 % 2));
        multiply_add<T>(sums[column / 8], left, right[0], right[1]);
        multiply_add<T>(sums[column / 8 + 1], left, right[2], right[3]);
      }
    }
#pragma unroll
    for (int tile = 0; tile < kColumns / 8; ++tile) {
#pragma unroll
      for (int k = 0; k < 4; ++k) scores.value[k / 2][2 * tile + k % 2] = sums[tile][k];
    }
  }

  /// results[16, kPart] += weights[16, kColumns] times the first kPart columns of rows of `b`.
  template <int kPart, int kColumns, int kWidth>
  __device__ static void gather(Part<kPart>& results, const Part<kColumns>& weights,
                                const Tile<T, kWidth>& b, Sum*) {
    constexpr int kDepth = sizeof(T) == 2 ? 16 : 8;
#pragma unroll
    for (int depth = 0; depth < kColumns; depth += kDepth) {
      std::uint32_t left[4];
      if constexpr (sizeof(T) == 2) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
          const float* const pair = &weights.value[k % 2][depth / 4 + k / 2 * 2];
          left[k] = packed(pair[0], pair[1]);
        }
      } else {
        // The depth's places are numbered 0, 2, 4, 6, 1, 3, 5, 7 here and in `b` below: a thread's
        // own two of a row are those that the instruction wants of it.
#pragma unroll
        for (int k = 0; k < 4; ++k) left[k] = rounded(weights.value[k % 2][depth / 4 + k / 2]);
      }
      gather_step(results, left, b, depth);
    }
  }

 private:
  template <int kPart, int kWidth>
  __device__ static void gather_step(Part<kPart>& results, const std::uint32_t (&left)[4],
                                     const Tile<T, kWidth>& b, int depth) {
    const auto lane = static_cast<int>(threadIdx.x % 32);
    const auto add = [&](int tile, std::uint32_t b0, std::uint32_t b1) {
      float sums[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) sums[k] = results.value[k / 2][2 * tile + k % 2];
      multiply_add<T>(sums, left, b0, b1);
#pragma unroll
      for (int k = 0; k < 4; ++k) results.value[k / 2][2 * tile + k % 2] = sums[k];
    };
    if constexpr (sizeof(T) == 2) {
#pragma unroll
      for (int tile = 0; tile < kPart / 8; tile += 2) {
        std::uint32_t right[4];
        load_matrices_transposed(right, b.chunk(depth + lane % 16, tile, lane / 16));
        add(tile, right[0], right[1]);
        add(tile + 1, right[2], right[3]);
      }
    } else {
      const int row = depth + lane % 4 * 2;
#pragma unroll
      for (int tile = 0; tile < kPart / 8; ++tile) {
        const auto element = [&](int at) {
          return __float_as_uint(b.chunk(at, 2 * tile, lane / 16)[lane / 4 % 4]);
        };
        add(tile, element(row), element(row + 1));
      }
    }
  }

  __device__ static std::uint32_t packed(float low, float high) {
    const Pack<T, 2> pair{{convert<T>(low), convert<T>(high)}};
    return *reinterpret_cast<const std::uint32_t*>(&pair);
  }
  __device__ static std::uint32_t rounded(float x) {
    std::uint32_t y = __float_as_uint(x);
#if __CUDA_ARCH__ >= 800
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y) : "f"(x));
#endif
    return y;
  }
};

// ---- Arithmetic units --------------------------------------------------------------------------

/// Products by fused multiply-adds. Eight lanes share a row's columns; weights pass through shared
/// memory to the lanes that need them.
template <class T>
struct ScalarMath {
  using Element = T;
  using Sum = T;
  static constexpr int kOwnRows = sizeof(T) == 4 ? 4 : 2;
  static constexpr int kRows = 4 * kOwnRows;
  static constexpr int kRowLanes = 8;
  static constexpr int kLanes = static_cast<int>(kVectorBytes / sizeof(T));

  template <int kColumns>
  struct Part {
    T value[kOwnRows][kColumns / kRowLanes];
  };
  __device__ static int row(int i) { return static_cast<int>(threadIdx.x % 32) / 8 + 4 * i; }
  __device__ static int score_column(int j) { return static_cast<int>(threadIdx.x % 8) + 8 * j; }
  __device__ static int result_column(int j) {
    return (static_cast<int>(threadIdx.x % 8) + j / kLanes * 8) * kLanes + j % kLanes;
  }

  /// Rows are apart so that four of them begin in different banks.
  template <int kColumns>
  static constexpr int kPitch = kColumns + 8;
  template <int kColumns>
  static constexpr int kExchange = kRows* kPitch<kColumns>;

  __device__ static float exp2(float x) { return exp2f(x); }
  __device__ static double exp2(double x) { return ::exp2(x); }

  template <int kColumns, int kWidth>
  __device__ static void score(Part<kColumns>& scores, const Tile<T, kWidth>& a, int first_row,
                               const Tile<T, kWidth>& b) {
    using Chunk = Pack<T, kLanes>;
    constexpr int kOwnColumns = kColumns / kRowLanes;
    scores = {};
#pragma unroll 2
    for (int depth = 0; depth < Tile<T, kWidth>::kChunks; ++depth) {
      Chunk left[kOwnRows];
#pragma unroll
      for (int i = 0; i < kOwnRows; ++i) left[i] = Chunk::load(a.chunk(first_row + row(i), depth));
#pragma unroll
      for (int j = 0; j < kOwnColumns; ++j) {
        const auto right = Chunk::load(b.chunk(score_column(j), depth));
#pragma unroll
        for (int i = 0; i < kOwnRows; ++i) {
#pragma unroll
          for (int k = 0; k < kLanes; ++k) {
            scores.value[i][j] += left[i].lane[k] * right.lane[k];
          }
        }
      }
    }
  }

  template <int kPart, int kColumns, int kWidth>
  __device__ static void gather(Part<kPart>& results, const Part<kColumns>& weights,
                                const Tile<T, kWidth>& b, Sum* exchange) {
    using Chunk = Pack<T, kLanes>;
    __syncwarp();  // the last weights may still be read
#pragma unroll
    for (int i = 0; i < kOwnRows; ++i) {
#pragma unroll
      for (int j = 0; j < kColumns / kRowLanes; ++j) {
        exchange[row(i) * kPitch<kColumns> + score_column(j)] = weights.value[i][j];
      }
    }
    __syncwarp();
#pragma unroll 1
    for (int depth = 0; depth < kColumns; depth += kLanes) {
      Chunk left[kOwnRows];
#pragma unroll
      for (int i = 0; i < kOwnRows; ++i) {
        left[i] = Chunk::load(exchange + row(i) * kPitch<kColumns> + depth);
      }
#pragma unroll
      for (int k = 0; k < kLanes; ++k) {
#pragma unroll
        for (int part = 0; part < kPart / kRowLanes / kLanes; ++part) {
          const auto right =
              Chunk::load(b.chunk(depth + k, static_cast<int>(threadIdx.x % 8) + part * 8));
#pragma unroll
          for (int i = 0; i < kOwnRows; ++i) {
#pragma unroll
            for (int lane = 0; lane < kLanes; ++lane) {
              results.value[i][part * kLanes + lane] += left[i].lane[k] * right.lane[lane];
            }
          }
        }
      }
    }
  }
};

// ---- Sizes -------------------------------------------------------------------------------------

/// How a kernel divides a head of up to kWidth columns.
template <class Math, int kWidthOf>
struct Plan {
  using T = typename Math::Element;
  static constexpr int kWidth = kWidthOf;
  static constexpr int kRowBytes = kWidth * static_cast<int>(sizeof(T));
  static constexpr int kWarps = kRowBytes >= 1024 ? 2 : 4;
  static constexpr int kThreads = 32 * kWarps;
  /// Rows that stay while others pass by.
  static constexpr int kResident = kWarps * Math::kRows;
  /// Columns of results in registers; wider heads take several blocks.
  static constexpr int kPart = std::min(kWidth, 128);
  static constexpr int kParts = kWidth / kPart;
  /// Rows of a passing tile: at most 16 KiB, and fewer where the backward pass would run out of
  /// registers.
  static constexpr int passing(int most) { return std::min(most, 16384 / kRowBytes); }
  static constexpr int kForward = passing(64);
  static constexpr int kBackward = passing(kWidth > 128 ? 16 : kWidth > 64 ? 32 : 64);
};

/// One head of one sample, where its rows lie.
template <class T>
struct Head {
  std::int64_t steps;
  std::int64_t columns;  ///< of all heads
  std::int64_t sample;
  std::int64_t head;
  int width;
  bool vector;

  /// Its q, k or v (0, 1, 2), or their gradients.
  template <class U>
  __device__ Rows<U> of_qkv(U* qkv, int part) const {
    return {qkv + (sample * steps * 3 + part) * columns + head * width, 3 * columns, width, vector};
  }
  template <class U>
  __device__ Rows<U> of_rows(U* rows) const {
    return {rows + sample * steps * columns + head * width, columns, width, vector};
  }
  /// Of tensors [b, heads, t].
  __device__ std::int64_t of_sums() const { return (sample * (columns / width) + head) * steps; }
};

/// What all passes over attention are told.
struct Extents {
  std::int64_t batch;
  std::int64_t steps;
  std::int64_t heads;
  std::int64_t columns;
  bool causal;
  bool vector;  ///< heads are whole and aligned 16-byte chunks
  double scale;

  /// Steps from `first` on; as many as fit an int.
  __device__ int rows_from(std::int64_t first) const {
    return static_cast<int>(min(steps - first, static_cast<std::int64_t>(INT_MAX)));
  }
  template <class T>
  __device__ Head<T> head(std::int64_t index) const {
    return {steps, columns, index / heads, index % heads, static_cast<int>(columns / heads),
            vector};
  }
};

}  // namespace trainbench::gpu::attention
