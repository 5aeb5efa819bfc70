#include <cmath>
#include <limits>

#include "gpu/cuda_backend_impl.h"
#include "gpu/vector.cuh"

namespace trainbench::gpu {
namespace {

constexpr int kWarps = kBlock / 32;

template <int N, class T>
__global__ void __launch_bounds__(kBlock)
    embedding_kernel(const std::int32_t* indices, const T* table, const T* positions, T* y,
                     std::int64_t rows, std::int64_t entries, std::int64_t columns,
                     std::int64_t steps) {
  using Acc = Accumulator<T>;
  for_rows(rows, columns / N, [=](std::int64_t row, std::int64_t pack) {
    const std::int64_t index = indices[row];
    Pack<T, N> value;
    if (index >= 0 && index < entries) {
      value = Pack<T, N>::load(table + index * columns + pack * N);
      if (positions != nullptr) {
        const auto shift = Pack<T, N>::load(positions + row % steps * columns + pack * N);
#pragma unroll
        for (int lane = 0; lane < N; ++lane) {
          value.lane[lane] =
              convert<T>(convert<Acc>(value.lane[lane]) + convert<Acc>(shift.lane[lane]));
        }
      }
    } else {
#pragma unroll
      for (int lane = 0; lane < N; ++lane) {
        value.lane[lane] = convert<T>(static_cast<Acc>(NAN));
      }
    }
    value.store(y + row * columns + pack * N);
  });
}

// ---- Backward: rows are sorted by their entry, then an entry's are added up in their order
// -------

/// Where each entry's rows stand in the sorted order: [first[v], first[v + 1]).
struct SortedRows {
  std::int32_t* order;  ///< [rows]; an index outside the table is left out
  std::int32_t* first;  ///< [entries + 1]
};

/// Entries of a block at the most: their counters take 16 KiB of shared memory.
constexpr int kMostEntries = 512;

/// Calls f(row, entry, peers) for the rows of [begin, end) whose index lies in [first, first +
/// count), `peers` being the lanes that have the same entry; `entry` counts from `first`.
template <class F>
__device__ void for_own_rows(const std::int32_t* indices, std::int32_t begin, std::int32_t end,
                             std::int32_t first, std::int32_t count, F f) {
  for (std::int32_t base = begin; base < end; base += 32) {
    const auto row = static_cast<std::int32_t>(base + threadIdx.x % 32);
    const std::int32_t index = row < end ? indices[row] : -1;
    const bool own = index >= first && index - first < count;
    const unsigned owners = __ballot_sync(0xffffffffu, own);
    if (own) f(row, index - first, __match_any_sync(owners, index));
    __syncwarp();
  }
}

/// A stable counting sort. A block places the rows of `block_entries` entries of its own: it looks
/// at all indices, each of its warps at one part of them, so that blocks need nothing of each other
/// and the order is that of the rows.
__global__ void __launch_bounds__(kBlock)
    sort_rows_kernel(const std::int32_t* indices, std::int32_t rows, std::int32_t entries,
                     std::int32_t block_entries, SortedRows sorted) {
  __shared__ std::int32_t cursor[kWarps][kMostEntries];
  __shared__ std::int32_t smaller[kWarps];
  const auto warp = static_cast<int>(threadIdx.x / 32);
  const auto lane = static_cast<int>(threadIdx.x % 32);
  const auto first = static_cast<std::int32_t>(blockIdx.x) * block_entries;
  const std::int32_t count = min(block_entries, entries - first);
  const std::int32_t part = (rows + kBlock - 1) / kBlock * 32;
  const std::int32_t begin = min(rows, warp * part);
  const std::int32_t end = min(rows, begin + part);

  for (int entry = lane; entry < count; entry += 32) cursor[warp][entry] = 0;
  __syncwarp();
  for_own_rows(indices, begin, end, first, count,
               [&](std::int32_t, std::int32_t entry, unsigned peers) {
                 if (lane == __ffs(peers) - 1) cursor[warp][entry] += __popc(peers);
               });
  std::int32_t before = 0;
  for (std::int32_t row = begin + lane; row < end; row += 32) {
    before += indices[row] >= 0 && indices[row] < first;
  }
  before = reduce_warp(before, Add{});
  if (lane == 0) smaller[warp] = before;
  __syncthreads();

  // Counts become places: entries in order, and the parts of the rows in order within each.
  if (warp == 0) {
    std::int32_t place = 0;
    for (int other = 0; other < kWarps; ++other) place += smaller[other];
    for (int base = 0; base < count; base += 32) {
      const int entry = base + lane;
      std::int32_t own = 0;
      for (int other = 0; other < kWarps && entry < count; ++other) own += cursor[other][entry];
      std::int32_t up_to = own;
#pragma unroll
      for (int offset = 1; offset < 32; offset *= 2) {
        const std::int32_t left = __shfl_up_sync(0xffffffffu, up_to, offset);
        if (lane >= offset) up_to += left;
      }
      if (entry < count) {
        std::int32_t next = place + up_to - own;
        sorted.first[first + entry] = next;
        for (int other = 0; other < kWarps; ++other) {
          const std::int32_t rows_of_part = cursor[other][entry];
          cursor[other][entry] = next;
          next += rows_of_part;
        }
      }
      place += __shfl_sync(0xffffffffu, up_to, 31);
    }
    if (lane == 0 && first + count == entries) sorted.first[entries] = place;
  }
  __syncthreads();

  for_own_rows(indices, begin, end, first, count,
               [&](std::int32_t row, std::int32_t entry, unsigned peers) {
                 const std::int32_t place = cursor[warp][entry];
                 sorted.order[place + __popc(peers & ((1u << lane) - 1))] = row;
                 __syncwarp(peers);
                 if (lane == __ffs(peers) - 1) cursor[warp][entry] = place + __popc(peers);
               });
}

/// An entry with more rows than this is added up by a whole block.
constexpr std::int32_t kWarpRows = 64;

/// Each warp adds up an entry of its own and then, with the others, the block's long ones.
template <int N, class T>
class EntrySums {
 public:
  using Acc = Accumulator<T>;

  __device__ EntrySums(const T* dy, Acc* dtable, const SortedRows& sorted, std::int64_t columns,
                       bool accumulate)
      : dy_(dy), dtable_(dtable), sorted_(sorted), columns_(columns), accumulate_(accumulate) {}

  /// Of every `stride`th row in [begin, end).
  __device__ Pack<Acc, N> sum(std::int32_t begin, std::int32_t end, std::int32_t stride,
                              std::int64_t column) const {
    Pack<Acc, N> total{};
#pragma unroll 4
    for (std::int32_t i = begin; i < end; i += stride) {
      const auto value = Pack<T, N>::load(dy_ + sorted_.order[i] * columns_ + column);
#pragma unroll
      for (int k = 0; k < N; ++k) total.lane[k] += convert<Acc>(value.lane[k]);
    }
    return total;
  }

  __device__ void write(std::int64_t entry, std::int64_t column, Pack<Acc, N> total) const {
    Acc* const to = dtable_ + entry * columns_ + column;
    if (accumulate_) {
      const auto before = Pack<Acc, N>::load(to);
#pragma unroll
      for (int k = 0; k < N; ++k) total.lane[k] += before.lane[k];
    }
    total.store(to);
  }

 private:
  const T* dy_;
  Acc* dtable_;
  SortedRows sorted_;
  std::int64_t columns_;
  bool accumulate_;
};

template <int N, class T>
__global__ void __launch_bounds__(kBlock)
    sum_entries_kernel(const T* dy, Accumulator<T>* dtable, SortedRows sorted, std::int64_t entries,
                       std::int64_t columns, bool accumulate) {
  using Acc = Accumulator<T>;
  __shared__ Pack<Acc, N> partial[kWarps][32];
  const EntrySums<N, T> sums(dy, dtable, sorted, columns, accumulate);
  const auto warp = static_cast<int>(threadIdx.y);
  const std::int64_t column = (static_cast<std::int64_t>(blockIdx.x) * 32 + threadIdx.x) * N;
  const bool inside = column < columns;

  for (std::int64_t group = static_cast<std::int64_t>(blockIdx.y) * kWarps; group < entries;
       group += static_cast<std::int64_t>(gridDim.y) * kWarps) {
    const std::int64_t entry = group + warp;
    bool is_long = false;
    if (entry < entries) {
      const std::int32_t begin = sorted.first[entry];
      const std::int32_t end = sorted.first[entry + 1];
      is_long = end - begin > kWarpRows;
      const bool written = end > begin || !accumulate;
      if (inside && written && !is_long) {
        sums.write(entry, column, sums.sum(begin, end, 1, column));
      }
    }
    if (__syncthreads_or(is_long) == 0) continue;
    for (std::int64_t other = group; other < entries && other < group + kWarps; ++other) {
      const std::int32_t begin = sorted.first[other];
      const std::int32_t end = sorted.first[other + 1];
      if (end - begin <= kWarpRows) continue;
      if (inside) partial[warp][threadIdx.x] = sums.sum(begin + warp, end, kWarps, column);
      __syncthreads();
      if (warp == 0 && inside) {
        Pack<Acc, N> total = partial[0][threadIdx.x];
        for (int part = 1; part < kWarps; ++part) {
#pragma unroll
          for (int k = 0; k < N; ++k) total.lane[k] += partial[part][threadIdx.x].lane[k];
        }
        sums.write(other, column, total);
      }
      __syncthreads();
    }
  }
}

SortedRows sort_rows(const Queue& queue, const std::int32_t* indices, std::int64_t rows,
                     std::int64_t entries) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() - kBlock;
  require(rows <= kMost && entries <= kMost &&
              static_cast<std::size_t>(rows + entries + 1) * sizeof(std::int32_t) <=
                  queue.scratch_bytes,
          "an embedding's sorted rows fit the scratch memory");
  const SortedRows sorted{static_cast<std::int32_t*>(queue.scratch),
                          static_cast<std::int32_t*>(queue.scratch) + rows};
  const std::int64_t wanted = (entries + 2 * queue.units - 1) / (2 * queue.units);
  const std::int64_t block_entries = std::min<std::int64_t>(wanted, kMostEntries);
  const auto blocks = static_cast<unsigned>((entries + block_entries - 1) / block_entries);
  sort_rows_kernel<<<blocks, kBlock, 0, queue.stream>>>(
      indices, static_cast<std::int32_t>(rows), static_cast<std::int32_t>(entries),
      static_cast<std::int32_t>(block_entries), sorted);
  TRAINBENCH_LAUNCHED();
  return sorted;
}

}  // namespace

void CudaBackend::embedding(ConstTensor indices, ConstTensor table, ConstTensor positions,
                            Tensor y) {
  const std::int64_t rows = indices.elements();
  const std::int64_t columns = table.shape[1];
  require(y.elements() == rows * columns, "an embedding has a row for each index");
  const std::int64_t steps = positions.absent() ? 1 : positions.shape[0];
  const Queue& queue = own("embedding", y.dtype);
  dispatch_float(y.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    constexpr auto kVector = static_cast<std::int64_t>(kVectorBytes / sizeof(T));
    const bool vector = columns % kVector == 0 && aligned(table.data, positions.data, y.data);
    dispatch_vector<T>(vector, [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      const Grid2 grid = grid_over(queue, rows, columns / kWidth);
      embedding_kernel<kWidth><<<grid.blocks, grid.threads, 0, queue.stream>>>(
          indices.as<std::int32_t>(), elements_of<T>(table), elements_of<T>(positions),
          elements_of<T>(y), rows, table.shape[0], columns, steps);
    });
  });
  TRAINBENCH_LAUNCHED();
}

void CudaBackend::embedding_backward(ConstTensor indices, ConstTensor dy, bool accumulate,
                                     Tensor dtable, Tensor dpositions) {
  const std::int64_t rows = indices.elements();
  const std::int64_t entries = dtable.shape[0];
  const std::int64_t columns = dtable.shape[1];
  require(dy.elements() == rows * columns, "an embedding has a row for each index");
  const Queue& queue = own("embedding_backward", dy.dtype);
  const SortedRows sorted = sort_rows(queue, indices.as<std::int32_t>(), rows, entries);
  dispatch_float(dy.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    constexpr auto kVector = static_cast<std::int64_t>(kVectorBytes / sizeof(T));
    dispatch_vector<T>(columns % kVector == 0 && aligned(dy.data, dtable.data), [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      const std::int64_t across = (columns + 32 * kWidth - 1) / (32 * kWidth);
      const std::int64_t down = std::clamp<std::int64_t>((entries + kWarps - 1) / kWarps, 1,
                                                         16 * queue.units / across + 1);
      sum_entries_kernel<kWidth>
          <<<dim3(static_cast<unsigned>(across), static_cast<unsigned>(down)), dim3(32, kWarps), 0,
             queue.stream>>>(elements_of<T>(dy), elements_of<Accumulator<T>>(dtable), sorted,
                             entries, columns, accumulate);
    });
  });
  TRAINBENCH_LAUNCHED();
  if (dpositions.absent()) return;
  const std::int64_t steps = dpositions.shape[0];
  column_sums(queue, dy.reshaped(Shape{rows / steps, steps * columns}),
              dpositions.reshaped(Shape{steps * columns}));
}

}  // namespace trainbench::gpu
