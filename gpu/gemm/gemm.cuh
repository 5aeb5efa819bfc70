#pragma once

#include <limits>

#include "gpu/gemm/fragments.cuh"
#include "gpu/gemm/sources.cuh"

// C[m, n] = op(A)[m, k] op(B)[k, n] by tiles: operands travel to shared memory three stages ahead,
// warps sum in registers, and an epilogue takes the sums row by row. What an operand is (a matrix,
// an image seen through a window) is its source's to say; what becomes of the sums, the epilogue's:
//   Result                            what it writes
//   select(batch)                     moves it to that product of a batch
//   operator()(row, column, sums, count)  takes neighbours of a row, `count` of which exist; called
//                                     by all lanes of a warp, of which neighbours have neighbours

namespace trainbench::gpu {

/// Extents of a product and how it is divided among blocks.
struct GemmSize {
  int m = 0;
  int n = 0;
  int batch = 1;
  int splits = 1;           ///< parts of k that are summed by blocks of their own
  int split_depth = 0;      ///< of k in each
  int first_batch = 0;      ///< of this launch
  void* partial = nullptr;  ///< [batch, splits, m, n] sums, where there is more than one part
};

/// Neighbours of a row that the epilogue takes at once: 16 bytes of results.
template <class Result>
inline constexpr int kGroup = static_cast<int>(kVectorBytes / sizeof(Result));

/// Neighbours of a row of results to memory, or added to what is there.
template <class Result, class Sum, int kCount>
__device__ void store_group(Result* to, const Sum (&sums)[kCount], int count, bool vector,
                            bool accumulate = false) {
  if (vector && count == kCount) {
    Pack<Result, kCount> pack;
    if (accumulate) pack = Pack<Result, kCount>::load(to);
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      pack.lane[i] = convert<Result>(accumulate ? convert<Sum>(pack.lane[i]) + sums[i] : sums[i]);
    }
    pack.store(to);
    return;
  }
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    if (i < count) to[i] = convert<Result>(accumulate ? convert<Sum>(to[i]) + sums[i] : sums[i]);
  }
}

// ---- Operands to shared memory -----------------------------------------------------------------

/// Brings an operand's tile to shared memory, kRows of it by Tile::kDepth of k, all threads their
/// parts. With kVector pieces are whole multiples of what is 16-byte aligned.
template <class Tile, class Source, int kRows, bool kVector>
class Loader {
  using T = typename Tile::Element;
  static constexpr Contiguous kContiguous = Source::kContiguous;
  using Layout = SharedLayout<kContiguous, kRows, sizeof(T)>;
  static constexpr int kLanes = Tile::kLanes;
  /// Neighbouring threads take neighbouring chunks of a line.
  static constexpr int kLinesAtOnce = Tile::kThreads / Layout::kLine;
  static constexpr int kChunks = kRows * Tile::kDepthChunks / Tile::kThreads;
  static constexpr bool kByK = kContiguous == Contiguous::k;
  static_assert(kChunks * Tile::kThreads == kRows * Tile::kDepthChunks);

 public:
  __device__ Loader(const Source& source, int first_row)
      : source_(source),
        chunk_(static_cast<int>(threadIdx.x) % Layout::kLine),
        line_(static_cast<int>(threadIdx.x) / Layout::kLine),
        first_row_(first_row) {
    if constexpr (kByK && kVector) {
#pragma unroll
      for (int i = 0; i < kChunks; ++i) {
        lines_[i] = source.line(first_row + line_ + i * kLinesAtOnce);
      }
    } else if constexpr (kVector) {
      lines_[0] = source.line(first_row + chunk_ * kLanes);
    }
  }

  /// Those of k from `depth` on.
  __device__ void load(Chunk* tile, int depth) const {
#pragma unroll
    for (int i = 0; i < kChunks; ++i) {
      const int line = line_ + i * kLinesAtOnce;
      Chunk* const to = tile + Layout::index(line, chunk_);
      if constexpr (kVector) {
        const Piece<T> piece = kByK ? source_.at(lines_[i], depth + chunk_ * kLanes)
                                    : source_.at(lines_[0], depth + line);
        const int count = min(max(piece.count, 0), kLanes);
        copy_async(to, piece.from, count * static_cast<int>(sizeof(T)));
      } else {
        Pack<T, kLanes> pack;
#pragma unroll
        for (int lane = 0; lane < kLanes; ++lane) {
          const int along = chunk_ * kLanes + lane;
          const int row = first_row_ + (kByK ? line : along);
          const Piece<T> piece = source_.at(source_.line(row), depth + (kByK ? along : line));
          pack.lane[lane] = piece.count > 0 ? *piece.from : convert<T>(0.0f);
        }
        pack.store(reinterpret_cast<T*>(to));
      }
    }
  }

 private:
  static constexpr int kLinesKept = !kVector ? 1 : kByK ? kChunks : 1;

  Source source_;
  typename Source::Line lines_[kLinesKept];
  int chunk_;
  int line_;
  int first_row_;
};

// ---- The product -------------------------------------------------------------------------------

/// Hands the epilogue a row's neighbours, or writes them beside those of other parts of k.
template <class Epilogue, class Sum, int kCount>
__device__ void finish(const GemmSize& size, const Epilogue& epilogue, int batch, int split,
                       int row, int column, Sum (&sums)[kCount]) {
  const int count = row < size.m ? min(max(size.n - column, 0), kCount) : 0;
  if (size.splits == 1) {
    epilogue(row, column, sums, count);
    return;
  }
  const std::int64_t first =
      (static_cast<std::int64_t>(batch) * size.splits + split) * size.m + row;
  Sum* const to = static_cast<Sum*>(size.partial) + first * size.n + column;
  for (int i = 0; i < kCount; ++i) {
    if (i < count) to[i] = sums[i];
  }
}

template <class Tile, bool kVector, class SourceA, class SourceB, class Epilogue>
__global__ void __launch_bounds__(Tile::kThreads, Tile::kBlocksPerUnit)
    gemm_kernel(GemmSize size, SourceA a, SourceB b, Epilogue epilogue) {
  using Sum = typename Tile::Sum;
  using Fragment = Fragments<Tile, SourceA::kContiguous, SourceB::kContiguous>;
  constexpr int kWarps = Tile::kThreads / 32;
  constexpr int kSlabChunks =
      Tile::kSlabElements * static_cast<int>(sizeof(Sum)) / static_cast<int>(kVectorBytes);
  constexpr int kStagesChunks = Tile::kStages * Tile::kStageChunks;
  constexpr int kSlabsChunks = kWarps * kSlabChunks;
  constexpr int kChunks = kStagesChunks > kSlabsChunks ? kStagesChunks : kSlabsChunks;
  __shared__ Chunk shared[kChunks];

  const int batch = size.first_batch + static_cast<int>(blockIdx.z);
  a.select(batch);
  b.select(batch);
  if constexpr (requires { b.end_at(0); }) b.end_at(a.depth());
  epilogue.select(batch);
  const int tiles_across = (size.n + Tile::kColumns - 1) / Tile::kColumns;
  const int tile_row = static_cast<int>(blockIdx.x) / tiles_across * Tile::kRows;
  const int tile_column = static_cast<int>(blockIdx.x) % tiles_across * Tile::kColumns;
  const int split = static_cast<int>(blockIdx.y);
  const int begin = split * size.split_depth;
  const int end = size.splits == 1 ? a.depth() : min(a.depth(), begin + size.split_depth);
  const int steps = (end - begin + Tile::kDepth - 1) / Tile::kDepth;

  const Loader<Tile, SourceA, Tile::kRows, kVector> load_a(a, tile_row);
  const Loader<Tile, SourceB, Tile::kColumns, kVector> load_b(b, tile_column);
  const auto load = [&](int step) {
    if (step < steps) {
      Chunk* const stage = shared + step % Tile::kStages * Tile::kStageChunks;
      load_a.load(stage, begin + step * Tile::kDepth);
      load_b.load(stage + Tile::kRows * Tile::kDepthChunks, begin + step * Tile::kDepth);
    }
    commit_copies();
  };

  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  Fragment fragment(warp / Tile::kWarpsAcross * Tile::kWarpRows,
                    warp % Tile::kWarpsAcross * Tile::kWarpColumns);
#pragma unroll
  for (int step = 0; step < Tile::kStages - 1; ++step) load(step);
  for (int step = 0; step < steps; ++step) {
    wait_for_copies<Tile::kStages - 2>();
    __syncthreads();
    load(step + Tile::kStages - 1);
    const Chunk* const stage = shared + step % Tile::kStages * Tile::kStageChunks;
    fragment.add(stage, stage + Tile::kRows * Tile::kDepthChunks);
  }
  wait_for_copies<0>();
  __syncthreads();

  constexpr int kCount = kGroup<typename Epilogue::Result>;
  constexpr int kAcross = Tile::kWarpColumns / kCount;
  Sum* const slab = reinterpret_cast<Sum*>(shared + warp * kSlabChunks);
  const int column = lane % kAcross * kCount;
  const int first_column = tile_column + warp % Tile::kWarpsAcross * Tile::kWarpColumns;
#pragma unroll 1
  for (int pass = 0; pass < Tile::kPasses; ++pass) {
#pragma unroll
    for (int i = 0; i < Tile::kPasses; ++i) {
      if (i == pass) fragment.stage(i, slab);
    }
    __syncwarp();
#pragma unroll 1
    for (int slab_row = lane / kAcross; slab_row < 16; slab_row += 32 / kAcross) {
      Sum sums[kCount];
      constexpr int kPart = kCount < kGroup<Sum> ? kCount : kGroup<Sum>;
#pragma unroll
      for (int i = 0; i < kCount; i += kPart) {
        const auto part = Pack<Sum, kPart>::load(slab + slab_index<Sum>(slab_row, column + i));
#pragma unroll
        for (int j = 0; j < kPart; ++j) sums[i + j] = part.lane[j];
      }
      finish(size, epilogue, batch, split, tile_row + fragment.row(pass, slab_row),
             first_column + column, sums);
    }
    __syncwarp();
  }
}

/// Adds the parts of k in their order and hands the sums to the epilogue.
template <class Sum, class Epilogue>
__global__ void __launch_bounds__(kBlock) add_parts_kernel(GemmSize size, Epilogue epilogue) {
  constexpr int kCount = kGroup<typename Epilogue::Result>;
  const int batch = size.first_batch + static_cast<int>(blockIdx.z);
  epilogue.select(batch);
  // Whole bytes of a ReLU mask in each row, so that lanes which share one are neighbours.
  const std::int64_t across = (size.n + 7) / 8 * (8 / kCount);
  const std::int64_t groups = across * size.m;
  const std::int64_t matrix = static_cast<std::int64_t>(size.m) * size.n;
  const Sum* const parts = static_cast<const Sum*>(size.partial) + batch * size.splits * matrix;
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kBlock;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kBlock; first < groups;
       first += stride) {
    const std::int64_t group = first + threadIdx.x;
    const int row = static_cast<int>(group / across);
    const int column = static_cast<int>(group % across) * kCount;
    const int count = row < size.m ? min(max(size.n - column, 0), kCount) : 0;
    Sum sums[kCount] = {};
    const Sum* from = parts + static_cast<std::int64_t>(row) * size.n + column;
    for (int split = 0; split < size.splits; ++split, from += matrix) {
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (i < count) sums[i] += from[i];
      }
    }
    epilogue(row, column, sums, count);
  }
}

// ---- Launches ----------------------------------------------------------------------------------

/// Divides k where the tiles alone leave most of the device idle: into parts of at least 8 tiles of
/// k whose sums fit in the scratch memory. Depends on the size and the device alone.
template <class Tile>
GemmSize divided(const Queue& queue, std::int64_t m, std::int64_t n, std::int64_t k,
                 std::int64_t batch) {
  constexpr std::int64_t kMost = std::numeric_limits<int>::max() / 2;
  require(m <= kMost && n <= kMost && k <= kMost && batch <= kMost, "a product's extents are ints");
  const std::int64_t blocks =
      (m + Tile::kRows - 1) / Tile::kRows * ((n + Tile::kColumns - 1) / Tile::kColumns) * batch;
  const std::int64_t steps = (k + Tile::kDepth - 1) / Tile::kDepth;
  const auto bytes = static_cast<std::int64_t>(sizeof(typename Tile::Sum)) * m * n * batch;
  const std::int64_t room =
      static_cast<std::int64_t>(queue.scratch_bytes) / std::max<std::int64_t>(bytes, 1);
  const std::int64_t wanted =
      Tile::kBlocksPerUnit * queue.units / std::max<std::int64_t>(blocks, 1);
  const std::int64_t splits = std::min({wanted, room, steps / 8, std::int64_t{1024}});
  GemmSize size{
      .m = static_cast<int>(m), .n = static_cast<int>(n), .batch = static_cast<int>(batch)};
  if (splits <= 1) return size;
  const std::int64_t steps_each = (steps + splits - 1) / splits;
  size.split_depth = static_cast<int>(steps_each * Tile::kDepth);
  size.splits = static_cast<int>((steps + steps_each - 1) / steps_each);
  size.partial = queue.scratch;
  return size;
}

template <class Tile, bool kVector, class SourceA, class SourceB, class Epilogue>
void launch_gemm(const Queue& queue, GemmSize size, const SourceA& a, const SourceB& b,
                 const Epilogue& epilogue) {
  constexpr int kMostBatches = 65535;
  const std::int64_t across = (size.n + Tile::kColumns - 1) / Tile::kColumns;
  const std::int64_t down = (size.m + Tile::kRows - 1) / Tile::kRows;
  for (; size.first_batch < size.batch; size.first_batch += kMostBatches) {
    const int batches = std::min(kMostBatches, size.batch - size.first_batch);
    const dim3 grid(static_cast<unsigned>(across * down), static_cast<unsigned>(size.splits),
                    static_cast<unsigned>(batches));
    gemm_kernel<Tile, kVector><<<grid, Tile::kThreads, 0, queue.stream>>>(size, a, b, epilogue);
    TRAINBENCH_LAUNCHED();
    if (size.splits == 1) continue;
    const std::int64_t groups = (size.n + 7) / 8 * std::int64_t{size.m};
    add_parts_kernel<typename Tile::Sum>
        <<<dim3(grid_size(queue, groups), 1, grid.z), kBlock, 0, queue.stream>>>(size, epilogue);
    TRAINBENCH_LAUNCHED();
  }
}

/// Calls f(tile, vector) with the tile that fits a product best: the largest whose blocks, and the
/// parts that k is divided into, fill the device. kTall: n may be small, else m. Operands that are
/// not `vector`, of 16-byte pieces, take the smallest tile.
template <class T, Unit kUnit, bool kTall, class F>
void dispatch_tile(const Queue& queue, std::int64_t m, std::int64_t n, std::int64_t k, bool vector,
                   F&& f) {
  using Small = Tile<T, kUnit, 32, 2, 2>;
  using Large = Tile<T, kUnit, 64, 2, sizeof(T) == 2 ? 4 : 2>;
  using Narrow = std::conditional_t<kTall, Tile<T, kUnit, 32, 4, 1>, Tile<T, kUnit, 32, 1, 4>>;
  if constexpr (std::is_same_v<T, double>) {
    f(Small{}, std::false_type{});
  } else {
    const std::int64_t large_tiles = (m + Large::kRows - 1) / Large::kRows *
                                     ((n + Large::kColumns - 1) / Large::kColumns) *
                                     ((k + 511) / 512);
    if (!vector) {
      f(Small{}, std::false_type{});
    } else if ((kTall ? n : m) <= 32) {
      f(Narrow{}, std::true_type{});
    } else if (m > 64 && n > Large::kColumns / 2 && large_tiles >= queue.units) {
      f(Large{}, std::true_type{});
    } else {
      f(Small{}, std::true_type{});
    }
  }
}

}  // namespace trainbench::gpu
