#pragma once

#include "gpu/vector.cuh"

// Operations whose parameters or sums belong to a column: channels of pixels, mostly.

namespace trainbench::gpu {

/// Images of rows of packs, divided among blocks. A block's threads lie over `across` neighbouring
/// packs of kBlock / across rows: neighbours are neighbours in memory also where a row is short,
/// and a thread keeps its pack while it goes down the rows.
struct Strips {
  int rows;    ///< of an image
  int packs;   ///< of a row
  int across;  ///< packs of a block, at most 32: 512 bytes of a row
  int chunk;   ///< rows of a block

  dim3 grid;  ///< images, strips of packs, chunks of rows
};

/// How much is worth a block: rows that a thread goes down at the least, and blocks for each SM at
/// the most.
struct BlockWork {
  int steps;
  int blocks_per_unit;
};
/// Where each row is read and written, a few steps hide a block's start.
inline constexpr BlockWork kForMaps{8, 8};
/// A sum costs a block a tree over its rows, and the second stage grows with the blocks.
inline constexpr BlockWork kForSums{16, 4};
/// An image in one block.
inline constexpr BlockWork kWhole{1, 0};

inline Strips strips_over(const Queue& queue, std::int64_t images, std::int64_t rows,
                          std::int64_t packs, const BlockWork& work) {
  require(images * rows < (std::int64_t{1} << 31) && packs < (std::int64_t{1} << 21),
          "rows are counted in 31 bits, their packs in 21");
  const std::int64_t strips = (packs + 31) / 32;
  const std::int64_t across = (packs + strips - 1) / strips;
  const std::int64_t down = kBlock / across;
  const std::int64_t steps = (rows + down - 1) / down;
  const std::int64_t most =
      work.blocks_per_unit * queue.units / std::max<std::int64_t>(strips * images, 1);
  const std::int64_t wanted = std::max<std::int64_t>(std::min(steps / work.steps, most), 1);
  const std::int64_t chunk = (steps + wanted - 1) / wanted * down;
  const std::int64_t chunks = (rows + chunk - 1) / chunk;
  return {.rows = static_cast<int>(rows),
          .packs = static_cast<int>(packs),
          .across = static_cast<int>(across),
          .chunk = static_cast<int>(chunk),
          .grid = dim3(static_cast<unsigned>(images), static_cast<unsigned>(strips),
                       static_cast<unsigned>(chunks))};
}

/// A thread's place in its block and its block's place in the strips.
struct StripThread {
  int row;    ///< in the block
  int pack;   ///< in an image's row
  int begin;  ///< the block's rows of the image
  int end;
  int step;
  std::int64_t image_row;  ///< the image's first row
  bool active;             ///< it has a pack

  __device__ explicit StripThread(const Strips& s)
      : row(static_cast<int>(threadIdx.x) / s.across),
        pack(static_cast<int>(blockIdx.y) * s.across + static_cast<int>(threadIdx.x) % s.across),
        begin(static_cast<int>(blockIdx.z) * s.chunk),
        end(min(begin + s.chunk, s.rows)),
        step(kBlock / s.across),
        image_row(static_cast<std::int64_t>(blockIdx.x) * s.rows),
        active(row < step && pack < s.packs) {}

  /// f(row of all images) for the thread's rows; so many that their loads are under way together.
  template <int kUnroll = 4, class F>
  __device__ void for_rows(F f) const {
    if (!active) return;
#pragma unroll kUnroll
    for (int i = begin + row; i < end; i += step) f(image_row + i);
  }
};

/// Sums each value over the threads of a block whose index is the same modulo `across`; the first
/// `across` threads get them. A tree of fixed shape.
template <int kValues, class Acc>
__device__ void sum_down(Acc (&value)[kValues], int across) {
  __shared__ Acc upper[kValues][kBlock / 2];
  const int thread = static_cast<int>(threadIdx.x);
  const int row = thread / across;
  for (int rows = kBlock / across; rows > 1;) {
    const int half = (rows + 1) / 2;
    __syncthreads();  // what was there before has been read
    if (row >= half && row < rows) {
#pragma unroll
      for (int v = 0; v < kValues; ++v) upper[v][thread - half * across] = value[v];
    }
    __syncthreads();
    if (row + half < rows) {
#pragma unroll
      for (int v = 0; v < kValues; ++v) value[v] += upper[v][thread];
    }
    rows = half;
  }
}

/// N numbers at an address that a pack may have.
template <int N, class T>
__device__ void store_lanes(const T* from, T* to) {
  Pack<T, N> pack;
#pragma unroll
  for (int lane = 0; lane < N; ++lane) pack.lane[lane] = from[lane];
  pack.store(to);
}

/// True in all threads of the last of `blocks` blocks to get here, which sees what the others wrote
/// before. `counter` is zero before and after.
__device__ inline bool last_to_arrive(unsigned* counter, unsigned blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) last = atomicInc(counter, blocks - 1) == blocks - 1;
  __syncthreads();
  if (last) __threadfence();
  return last;
}

}  // namespace trainbench::gpu
