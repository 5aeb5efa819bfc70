#include "gpu/vector.cuh"

// Sums of a matrix's columns and rows. Two stages where one would leave most of the device idle;
// both in an order that depends on the shape and the device alone.

namespace trainbench::gpu {
namespace {

constexpr int kWarps = kBlock / 32;

/// A block sums a chunk of rows of 32 N columns: each warp every kWarps-th row, then the warps in
/// order. `sums` is [chunks, columns]; the grid's third extent is of groups of `rows` each.
template <int N, class T, class Sum>
__global__ void __launch_bounds__(kBlock)
    column_sums_kernel(const T* x, Sum* sums, std::int64_t rows, std::int64_t columns,
                       std::int64_t chunk) {
  using Acc = Accumulator<T>;
  __shared__ Pack<Acc, N> partial[kWarps][32];
  x += blockIdx.z * rows * columns;
  sums += static_cast<std::int64_t>(blockIdx.z) * gridDim.y * columns;
  const std::int64_t column = (static_cast<std::int64_t>(blockIdx.x) * 32 + threadIdx.x) * N;
  const std::int64_t begin = blockIdx.y * chunk;
  const std::int64_t end = begin + chunk < rows ? begin + chunk : rows;

  Pack<Acc, N> sum{};
  if (column < columns) {
    for (std::int64_t row = begin + threadIdx.y; row < end; row += kWarps) {
      const auto value = Pack<T, N>::load(x + row * columns + column);
#pragma unroll
      for (int lane = 0; lane < N; ++lane) sum.lane[lane] += convert<Acc>(value.lane[lane]);
    }
  }
  partial[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  for (int warp = 1; warp < kWarps; ++warp) {
#pragma unroll
    for (int lane = 0; lane < N; ++lane) {
      sum.lane[lane] += partial[warp][threadIdx.x].lane[lane];
    }
  }
#pragma unroll
  for (int lane = 0; lane < N; ++lane) {
    sums[blockIdx.y * columns + column + lane] = convert<Sum>(sum.lane[lane]);
  }
}

template <class T, class Sum>
__global__ void __launch_bounds__(kBlock)
    row_sums_kernel(const T* x, Sum* sums, std::int64_t rows, std::int64_t columns) {
  using Acc = Accumulator<T>;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kWarps + threadIdx.x / 32;
       row < rows; row += static_cast<std::int64_t>(gridDim.x) * kWarps) {
    Acc sum = 0;
    for (std::int64_t column = threadIdx.x % 32; column < columns; column += 32) {
      sum += convert<Acc>(x[row * columns + column]);
    }
    sum = reduce_warp(sum, Add{});
    if (threadIdx.x % 32 == 0) sums[row] = convert<Sum>(sum);
  }
}

/// A block sums 32 columns of the 2 * columns: each warp every kWarps-th part, then the warps in
/// order.
template <class Acc>
__global__ void __launch_bounds__(kBlock)
    sum_pairs_kernel(const Acc* x, Acc* first, Acc* second, std::int64_t parts,
                     std::int64_t columns) {
  __shared__ Acc partial[kWarps][32];
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * 32 + threadIdx.x;
  const bool active = column < 2 * columns;
  Acc sum = 0;
#pragma unroll 4
  for (std::int64_t part = threadIdx.y; active && part < parts; part += kWarps) {
    sum += x[part * 2 * columns + column];
  }
  partial[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || !active) return;
  for (int warp = 1; warp < kWarps; ++warp) sum += partial[warp][threadIdx.x];
  if (column < columns) {
    first[column] = sum;
  } else {
    second[column - columns] = sum;
  }
}

/// Groups of `rows` rows each.
struct Groups {
  std::int64_t groups;
  std::int64_t rows;
  std::int64_t columns;
};

template <class T, class Sum>
void launch_column_sums(const Queue& queue, const T* x, Sum* sums, const Groups& size,
                        std::int64_t chunks) {
  dispatch_width(size.columns % 4 == 0 && aligned(x), [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    const std::int64_t across = (size.columns + 32 * kWidth - 1) / (32 * kWidth);
    const dim3 blocks(static_cast<unsigned>(across), static_cast<unsigned>(chunks),
                      static_cast<unsigned>(size.groups));
    column_sums_kernel<kWidth><<<blocks, dim3(32, kWarps), 0, queue.stream>>>(
        x, sums, size.rows, size.columns, (size.rows + chunks - 1) / chunks);
  });
  TRAINBENCH_LAUNCHED();
}

/// Chunks of a group, of at least 64 rows each, no more than give every SM a few blocks.
std::int64_t chunks_for(const Queue& queue, const Groups& size, std::size_t accumulator_bytes) {
  const std::int64_t across = (size.columns + 127) / 128 * size.groups;
  const std::int64_t wanted = std::min<std::int64_t>(size.rows / 64, 4 * queue.units / across);
  const auto row_of_sums = static_cast<std::size_t>(size.groups * size.columns);
  const auto fit =
      static_cast<std::int64_t>(queue.scratch_bytes / (row_of_sums * accumulator_bytes));
  return std::max<std::int64_t>(std::min(wanted, fit), 1);
}

/// Calls `f` with the tags of a matrix's and its sums' element types.
template <class F>
void dispatch_sums(const ConstTensor& x, const Tensor& sums, F&& f) {
  require(x.shape.rank() == 2, "a matrix is needed");
  dispatch_float(x.dtype, [&](auto tag) {
    dispatch_float(sums.dtype, [&](auto sum_tag) { f(tag, sum_tag); });
  });
}

}  // namespace

void column_sums(const Queue& queue, ConstTensor x, Tensor sums) {
  dispatch_sums(x, sums, [&](auto tag, auto sum_tag) {
    using T = DeviceElement<decltype(tag)>;
    using Sum = DeviceElement<decltype(sum_tag)>;
    using Acc = Accumulator<T>;
    const std::int64_t group_rows = rows_of_group(x, sums);
    const Groups size{x.shape[0] / group_rows, group_rows, x.shape[1]};
    const std::int64_t chunks = chunks_for(queue, size, sizeof(Acc));
    if (chunks == 1) {
      launch_column_sums(queue, elements_of<T>(x), elements_of<Sum>(sums), size, 1);
      return;
    }
    Acc* const partial = static_cast<Acc*>(queue.scratch);
    launch_column_sums(queue, elements_of<T>(x), partial, size, chunks);
    launch_column_sums(queue, static_cast<const Acc*>(partial), elements_of<Sum>(sums),
                       {size.groups, chunks, size.columns}, 1);
  });
}

void row_sums(const Queue& queue, ConstTensor x, Tensor sums) {
  dispatch_sums(x, sums, [&](auto tag, auto sum_tag) {
    using T = DeviceElement<decltype(tag)>;
    using Sum = DeviceElement<decltype(sum_tag)>;
    const std::int64_t rows = x.shape[0];
    require(sums.elements() == rows, "one sum a row");
    row_sums_kernel<<<grid_size(queue, rows * 32), kBlock, 0, queue.stream>>>(
        elements_of<T>(x), elements_of<Sum>(sums), rows, x.shape[1]);
  });
  TRAINBENCH_LAUNCHED();
}

void sum_pairs(const Queue& queue, ConstTensor x, Tensor first, Tensor second) {
  const std::int64_t columns = first.elements();
  require(x.shape.rank() == 3 && x.shape[1] == 2 && x.shape[2] == columns &&
              second.elements() == columns && x.dtype == first.dtype && x.dtype == second.dtype,
          "pairs of sums are [parts, 2, n]");
  const auto blocks = static_cast<unsigned>((2 * columns + 31) / 32);
  dispatch_float(x.dtype, [&](auto tag) {
    using Acc = Accumulator<DeviceElement<decltype(tag)>>;
    require(x.dtype == dtype_of<Acc>(), "sums are f32 or f64");
    sum_pairs_kernel<<<blocks, dim3(32, kWarps), 0, queue.stream>>>(
        elements_of<Acc>(x), elements_of<Acc>(first), elements_of<Acc>(second), x.shape[0],
        columns);
  });
  TRAINBENCH_LAUNCHED();
}

}  // namespace trainbench::gpu
