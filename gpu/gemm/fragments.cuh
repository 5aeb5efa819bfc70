#pragma once

#include "gpu/gemm/instructions.cuh"
#include "gpu/gemm/tile.cuh"

// A warp's part of a block's tile: operands from shared memory, sums in registers.

namespace trainbench::gpu {

template <class Tile, Contiguous kA, Contiguous kB, Unit kUnit = Tile::kUnit>
class Fragments;

// ---- Tensor cores ------------------------------------------------------------------------------

/// Sums of 16 x 8 elements each, as mma lays them over the lanes: lane l has columns 2 (l % 4) and
/// the next of rows l / 4 and l / 4 + 8.
template <class Tile, Contiguous kA, Contiguous kB>
class Fragments<Tile, kA, kB, Unit::tensor> {
  using T = typename Tile::Element;
  using LayoutA = SharedLayout<kA, Tile::kRows, sizeof(T)>;
  using LayoutB = SharedLayout<kB, Tile::kColumns, sizeof(T)>;
  static constexpr int kDown = Tile::kWarpRows / 16;
  static constexpr int kAcross = Tile::kWarpColumns / 8;
  static constexpr int kStep = 2 * Tile::kLanes;  // of k that one instruction sums over

 public:
  __device__ Fragments(int first_row, int first_column)
      : lane_(threadIdx.x % 32), first_row_(first_row), first_column_(first_column) {}

  /// Adds the products of one stage.
  __device__ void add(const Chunk* a, const Chunk* b) {
#pragma unroll
    for (int step = 0; step < Tile::kDepth / kStep; ++step) {
      std::uint32_t columns[kAcross][2];
#pragma unroll
      for (int pair = 0; pair < kAcross / 2; ++pair) {
        std::uint32_t loaded[4];
        load<kB, LayoutB, false>(loaded, b, first_column_ + 16 * pair, step);
        columns[2 * pair][0] = loaded[0];
        columns[2 * pair][1] = loaded[1];
        columns[2 * pair + 1][0] = loaded[2];
        columns[2 * pair + 1][1] = loaded[3];
      }
#pragma unroll
      for (int down = 0; down < kDown; ++down) {
        std::uint32_t rows[4];
        load<kA, LayoutA, true>(rows, a, first_row_ + 16 * down, step);
#pragma unroll
        for (int across = 0; across < kAcross; ++across) {
          multiply_add<T>(sums_[down][across], rows, columns[across][0], columns[across][1]);
        }
      }
    }
  }

  /// Writes the sums of one pass of the epilogue to the slab.
  __device__ void stage(int pass, float* slab) const {
#pragma unroll
    for (int across = 0; across < kAcross; ++across) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int at = slab_index<float>(lane_ / 4 + 8 * half, 8 * across + 2 * (lane_ % 4));
        *reinterpret_cast<float2*>(slab + at) =
            make_float2(sums_[pass][across][2 * half], sums_[pass][across][2 * half + 1]);
      }
    }
  }

  /// The row of the block's tile that lies in that row of the slab.
  __device__ int row(int pass, int slab_row) const { return first_row_ + 16 * pass + slab_row; }

 private:
  /// 16 rows of an operand by kStep of k. mma wants the four 8 x 16-byte matrices of A rows first,
  /// those of B, two operands of 8 columns, k first.
  template <Contiguous kContiguous, class Layout, bool kRowsFirst>
  __device__ void load(std::uint32_t (&to)[4], const Chunk* tile, int first, int step) const {
    const int inner = lane_ >> 3 & 1;
    const int outer = lane_ >> 4;
    const int row8 = kRowsFirst ? inner : outer;
    const int k_half = kRowsFirst ? outer : inner;
    if constexpr (kContiguous == Contiguous::k) {
      const int row = first + (lane_ & 7) + 8 * row8;
      load_matrices(to, tile + Layout::index(row, 2 * step + k_half));
    } else if constexpr (sizeof(T) == 2) {
      const int k = step * kStep + (lane_ & 7) + 8 * k_half;
      load_matrices_transposed(to, tile + Layout::index(k, first / 8 + row8));
    } else {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = first + lane_ / 4 + 8 * (kRowsFirst ? i & 1 : i >> 1);
        const int k = step * kStep + lane_ % 4 + 4 * (kRowsFirst ? i >> 1 : i & 1);
        to[i] = tile[Layout::index(k, row / 4)].word[row % 4];
      }
    }
  }

  float sums_[kDown][kAcross][4] = {};
  int lane_;
  int first_row_;
  int first_column_;
};

// ---- Arithmetic units --------------------------------------------------------------------------

/// A warp's lanes lie 8 x 4, each has kDown x 8 sums: rows and columns that are neighbours where
/// the operand's are neighbours in memory, else the lanes' are.
template <class Tile, Contiguous kA, Contiguous kB>
class Fragments<Tile, kA, kB, Unit::scalar> {
  using T = typename Tile::Element;
  using LayoutA = SharedLayout<kA, Tile::kRows, sizeof(T)>;
  using LayoutB = SharedLayout<kB, Tile::kColumns, sizeof(T)>;
  static constexpr int kLanes = Tile::kLanes;
  static constexpr int kDown = Tile::kWarpRows / 8;
  static constexpr int kAcross = Tile::kWarpColumns / 4;

  struct alignas(kVectorBytes) Vector {
    T lane[kLanes];
  };

 public:
  __device__ Fragments(int first_row, int first_column)
      : lane_row_(threadIdx.x % 32 / 4),
        lane_column_(threadIdx.x % 4),
        first_row_(first_row),
        first_column_(first_column) {}

  __device__ void add(const Chunk* a, const Chunk* b) {
#pragma unroll 1  // or the compiler keeps several chunks' operands, and spills
    for (int chunk = 0; chunk < Tile::kDepthChunks; ++chunk) {
      T rows[kDown][kLanes];
      load_rows(rows, a, chunk);
      if constexpr (kB == Contiguous::k) {
#pragma unroll
        for (int j = 0; j < kAcross; ++j) {
          const Vector column =
              read(b, LayoutB::index(first_column_ + lane_column_ + 4 * j, chunk));
#pragma unroll
          for (int k = 0; k < kLanes; ++k) {
#pragma unroll
            for (int i = 0; i < kDown; ++i) sums_[i][j] += rows[i][k] * column.lane[k];
          }
        }
      } else {
#pragma unroll
        for (int k = 0; k < kLanes; ++k) {
#pragma unroll
          for (int group = 0; group < kAcross / kLanes; ++group) {
            const int at = first_column_ / kLanes + lane_column_ + 4 * group;
            const Vector columns = read(b, LayoutB::index(chunk * kLanes + k, at));
#pragma unroll
            for (int j = 0; j < kLanes; ++j) {
#pragma unroll
              for (int i = 0; i < kDown; ++i) {
                sums_[i][group * kLanes + j] += rows[i][k] * columns.lane[j];
              }
            }
          }
        }
      }
    }
  }

  __device__ void stage(int pass, T* slab) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int slab_row = lane_row_ + 8 * half;
      const T(&row)[kAcross] = sums_[2 * pass + half];
      if constexpr (kB == Contiguous::k) {
#pragma unroll
        for (int j = 0; j < kAcross; ++j) {
          slab[slab_index<T>(slab_row, lane_column_ + 4 * j)] = row[j];
        }
      } else {
#pragma unroll
        for (int group = 0; group < kAcross / kLanes; ++group) {
          Vector vector;
#pragma unroll
          for (int j = 0; j < kLanes; ++j) vector.lane[j] = row[group * kLanes + j];
          const int column = (lane_column_ + 4 * group) * kLanes;
          *reinterpret_cast<Vector*>(slab + slab_index<T>(slab_row, column)) = vector;
        }
      }
    }
  }

  __device__ int row(int pass, int slab_row) const {
    const int i = 2 * pass + slab_row / 8;
    const int lane_row = slab_row % 8;
    if constexpr (kA == Contiguous::k) return first_row_ + lane_row + 8 * i;
    return first_row_ + (lane_row + 8 * (i / kLanes)) * kLanes + i % kLanes;
  }

 private:
  __device__ static Vector read(const Chunk* tile, int index) {
    return *reinterpret_cast<const Vector*>(tile + index);
  }

  __device__ void load_rows(T (&rows)[kDown][kLanes], const Chunk* a, int chunk) const {
    if constexpr (kA == Contiguous::k) {
#pragma unroll
      for (int i = 0; i < kDown; ++i) {
        const Vector row = read(a, LayoutA::index(first_row_ + lane_row_ + 8 * i, chunk));
#pragma unroll
        for (int k = 0; k < kLanes; ++k) rows[i][k] = row.lane[k];
      }
    } else {
#pragma unroll
      for (int k = 0; k < kLanes; ++k) {
#pragma unroll
        for (int group = 0; group < kDown / kLanes; ++group) {
          const int at = first_row_ / kLanes + lane_row_ + 8 * group;
          const Vector column = read(a, LayoutA::index(chunk * kLanes + k, at));
#pragma unroll
          for (int i = 0; i < kLanes; ++i) rows[group * kLanes + i][k] = column.lane[i];
        }
      }
    }
  }

  T sums_[kDown][kAcross] = {};
  int lane_row_;
  int lane_column_;
  int first_row_;
  int first_column_;
};

}  // namespace trainbench::gpu
