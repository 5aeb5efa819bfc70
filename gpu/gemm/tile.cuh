#pragma once

#include "gpu/vector.cuh"

namespace trainbench::gpu {

/// What multiplies: tensor cores or the arithmetic units of each thread.
enum class Unit { tensor, scalar };

/// How a block divides its part of a product. Each of kWarpsM x kWarpsN warps sums kWarpRows x 32
/// elements of C over all k.
template <class T, Unit kUnitOf, int kWarpRowsOf, int kWarpsM, int kWarpsN>
struct Tile {
  using Element = T;
  using Sum = Accumulator<T>;
  static constexpr Unit kUnit = kUnitOf;
  static constexpr int kWarpRows = kWarpRowsOf;
  static constexpr int kWarpColumns = 32;
  static constexpr int kWarpsDown = kWarpsM;
  static constexpr int kWarpsAcross = kWarpsN;
  static constexpr int kThreads = 32 * kWarpsM * kWarpsN;
  static constexpr int kRows = kWarpRows * kWarpsM;
  static constexpr int kColumns = kWarpColumns * kWarpsN;
  static constexpr int kLanes = kVectorBytes / sizeof(T);  ///< elements of 16 bytes
  static constexpr int kDepthChunks = 4;
  static constexpr int kDepth = kDepthChunks * kLanes;  ///< of k in shared memory at a time
  static constexpr int kStages = 3;
  static constexpr int kStageChunks = (kRows + kColumns) * kDepthChunks;
  static constexpr int kPasses = kWarpRows / 16;  ///< of the epilogue
  static constexpr int kSlabElements = 16 * kWarpColumns;
  /// So that a thread has the registers it takes: 128, or 168 where the compiler keeps four numbers
  /// of k at a time (fp32) and addresses of what no instruction transposes (tf32).
  static constexpr int kBlocksPerUnit = (sizeof(T) == 2   ? 512
                                         : sizeof(T) == 4 ? 384
                                                          : 256) /
                                        kThreads;
};

/// Which of an operand's directions lies together in memory: k or the rows of op(A), columns of
/// op(B). The tile in shared memory lies the same way.
enum class Contiguous { k, row };

/// 16 bytes in shared memory.
struct alignas(kVectorBytes) Chunk {
  std::uint32_t word[4];
};

/// Where the chunks of an operand's tile lie, permuted so that neither the copies nor the reads of
/// fragments meet a bank twice. `kRows` of the operand, elements of `kSize` bytes.
template <Contiguous kContiguous, int kRows, int kSize>
struct SharedLayout {
  static constexpr int kLanes = kVectorBytes / kSize;
  /// Chunks of a line: of all k at one row, or of all rows at one k.
  static constexpr int kLine = kContiguous == Contiguous::k ? 4 : kRows / kLanes;
  static_assert(kLine == 4 || kLine % 8 == 0);

  __device__ static int index(int line, int chunk) {
    if constexpr (kLine == 4) {
      return line * kLine + (chunk ^ (line >> 1 & 3));  // two lines in all 32 banks
    } else if constexpr (kSize == 2) {
      return line * kLine + (chunk ^ (line & 7));  // eight lines are read at once, 16 bytes of each
    } else {
      return line * kLine + (chunk ^ ((line & 3) << 1));  // four lines, 32 bytes of each
    }
  }
};

/// Where sums lie while a warp turns its registers into rows: 16 rows of 32, chunks permuted.
template <class Sum>
__device__ int slab_index(int row, int column) {
  constexpr int kLanes = kVectorBytes / sizeof(Sum);
  const int swap = (row & 1) << 2 | (row & 2) | ((row ^ row >> 2) & 1);
  return row * 32 + ((column / kLanes) ^ swap) * kLanes + column % kLanes;
}

}  // namespace trainbench::gpu
