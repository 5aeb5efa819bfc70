#include "gpu/attention_launch.cuh"
#include "gpu/attention_tile.cuh"
#include "gpu/cuda_backend_impl.h"

// The gradients by keys and values are sums over queries, those by queries sums over keys: a kernel
// each, so that every block owns what it adds up, in order.

namespace trainbench::gpu {
namespace attention {
namespace {

template <class T>
struct BackwardOperands {
  const T* qkv;
  const T* y;
  const Accumulator<T>* logsum;
  const T* dy;
  Accumulator<T>* along;  ///< [b, heads, t]: products of y and dy along each row
  T* dqkv;
};

template <class Math, int kWidth>
struct BackwardMemory {
  using P = Plan<Math, kWidth>;
  using Sum = typename Math::Sum;
  using Rows = Tile<typename Math::Element, kWidth>;
  static constexpr int kExchange = Math::template kExchange<P::kBackward>;
  static constexpr int kBytes = Rows::bytes(2 * P::kResident + 4 * P::kBackward) +
                                P::kWarps * kExchange * static_cast<int>(sizeof(Sum));
};

/// What softmax's gradient subtracts. Eight lanes a row of a head.
template <class T>
__global__ void __launch_bounds__(kBlock)
    along_kernel(BackwardOperands<T> operands, Extents extents) {
  using Acc = Accumulator<T>;
  constexpr int kRowLanes = 8;
  const std::int64_t width = extents.columns / extents.heads;
  const std::int64_t rows = extents.batch * extents.steps * extents.heads;
  const int lane = threadIdx.x % kRowLanes;
  // Whole warps go on together: the last ones may have lanes without a row.
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * (kBlock / kRowLanes);
       first < rows; first += static_cast<std::int64_t>(gridDim.x) * (kBlock / kRowLanes)) {
    const std::int64_t row = first + threadIdx.x / kRowLanes;
    Acc sum = 0;
    for (std::int64_t i = lane; i < width && row < rows; i += kRowLanes) {
      sum += convert<Acc>(operands.y[row * width + i]) * convert<Acc>(operands.dy[row * width + i]);
    }
#pragma unroll
    for (int offset = 1; offset < kRowLanes; offset *= 2) {
      sum += __shfl_xor_sync(0xffffffffu, sum, offset);
    }
    if (lane != 0 || row >= rows) continue;
    const std::int64_t head = row % extents.heads;
    const std::int64_t token = row / extents.heads;
    operands.along[(token / extents.steps * extents.heads + head) * extents.steps +
                   token % extents.steps] = sum;
  }
}

/// The tiles of both backward kernels: two that stay and two that pass by, each of the latter
/// twice, so that the next ones come while these are used.
template <class Math, int kWidth>
struct BackwardTiles {
  using T = typename Math::Element;
  using P = Plan<Math, kWidth>;
  using Rows = Tile<T, kWidth>;

  T* memory;

  __device__ explicit BackwardTiles(unsigned char* shared) : memory(reinterpret_cast<T*>(shared)) {}

  __device__ Rows resident(int which) const { return {memory + which * P::kResident * kWidth}; }
  __device__ Rows passing(int turn, int which) const {
    return {memory + (2 * P::kResident + (2 * turn + which) * P::kBackward) * kWidth};
  }
  /// Of the thread's warp.
  __device__ typename Math::Sum* exchange() const {
    return reinterpret_cast<typename Math::Sum*>(passing(2, 0).data) +
           static_cast<int>(threadIdx.x / 32) * BackwardMemory<Math, kWidth>::kExchange;
  }
};

template <class Sum>
constexpr Sum kLog2E = static_cast<Sum>(1.4426950408889634074);

/// A block takes kResident keys of a head and passes over the queries that see them. Scores stand
/// transposed: a thread's rows are keys.
template <class Math, int kWidth>
__global__ void __launch_bounds__(Plan<Math, kWidth>::kThreads, 1)
    key_gradient_kernel(BackwardOperands<typename Math::Element> operands, Extents extents) {
  using T = typename Math::Element;
  using Sum = typename Math::Sum;
  using P = Plan<Math, kWidth>;
  constexpr int kQueries = P::kBackward;
  constexpr int kOwnQueries = kQueries / Math::kRowLanes;
  extern __shared__ __align__(16) unsigned char memory[];
  const BackwardTiles<Math, kWidth> tiles(memory);
  const int first_row = static_cast<int>(threadIdx.x / 32) * Math::kRows;
  const int first_column = static_cast<int>(blockIdx.z) * P::kPart;

  const Head<T> head = extents.template head<T>(blockIdx.x);
  const std::int64_t first_key = static_cast<std::int64_t>(blockIdx.y) * P::kResident;
  const std::int64_t warp_key = first_key + first_row;
  const Rows<const T> query_rows = head.of_qkv(operands.qkv, 0);
  const Rows<const T> slope_rows = head.of_rows(operands.dy);
  const auto load = [&](std::int64_t first, int turn) {
    const int count = extents.rows_from(first);
    load_tile<kQueries, P::kThreads>(tiles.passing(turn, 0), query_rows.from(first), count);
    load_tile<kQueries, P::kThreads>(tiles.passing(turn, 1), slope_rows.from(first), count);
    commit_copies();
  };
#pragma unroll
  for (int part = 1; part <= 2; ++part) {
    load_tile<P::kResident, P::kThreads>(tiles.resident(part - 1),
                                         head.of_qkv(operands.qkv, part).from(first_key),
                                         extents.rows_from(first_key));
  }
  const std::int64_t start = extents.causal ? first_key / kQueries * kQueries : 0;
  load(start, 0);

  const Sum scale = static_cast<Sum>(extents.scale) * kLog2E<Sum>;
  typename Math::template Part<P::kPart> dkeys{};
  typename Math::template Part<P::kPart> dvalues{};
  int turn = 0;
  for (std::int64_t first_query = start; first_query < extents.steps;
       first_query += kQueries, turn ^= 1) {
    wait_for_copies<0>();
    __syncthreads();  // this turn's tiles are there, and the last turn's are no longer read
    if (first_query + kQueries < extents.steps) load(first_query + kQueries, turn ^ 1);
    const Tile<T, kWidth> queries = tiles.passing(turn, 0);
    const Tile<T, kWidth> slopes = tiles.passing(turn, 1);

    typename Math::template Part<kQueries> weights;
    Math::score(weights, tiles.resident(0), first_row, queries);
#pragma unroll
    for (int j = 0; j < kOwnQueries; ++j) {
      const std::int64_t query = first_query + Math::score_column(j);
      const bool exists = query < extents.steps;
      const Sum logsum = exists ? operands.logsum[head.of_sums() + query] * kLog2E<Sum> : Sum{0};
#pragma unroll
      for (int i = 0; i < Math::kOwnRows; ++i) {
        const bool seen = exists && (!extents.causal || warp_key + Math::row(i) <= query);
        weights.value[i][j] = seen ? Math::exp2(weights.value[i][j] * scale - logsum) : Sum{0};
      }
    }
    Math::gather(dvalues, weights, slopes.from_column(first_column), tiles.exchange());

    typename Math::template Part<kQueries> gradients;
    Math::score(gradients, tiles.resident(1), first_row, slopes);
#pragma unroll
    for (int j = 0; j < kOwnQueries; ++j) {
      const std::int64_t query = first_query + Math::score_column(j);
      const Sum along = query < extents.steps ? operands.along[head.of_sums() + query] : Sum{0};
#pragma unroll
      for (int i = 0; i < Math::kOwnRows; ++i) {
        gradients.value[i][j] = weights.value[i][j] * (gradients.value[i][j] - along);
      }
    }
    Math::gather(dkeys, gradients, queries.from_column(first_column), tiles.exchange());
  }

  // A warp's keys are its own: their place takes the results on the way to memory.
#pragma unroll
  for (int i = 0; i < Math::kOwnRows; ++i) {
#pragma unroll
    for (int j = 0; j < P::kPart / Math::kRowLanes; ++j) {
      const int row = first_row + Math::row(i);
      tiles.resident(0).at(row, Math::result_column(j)) =
          convert<T>(dkeys.value[i][j] * static_cast<Sum>(extents.scale));
      tiles.resident(1).at(row, Math::result_column(j)) = convert<T>(dvalues.value[i][j]);
    }
  }
#pragma unroll
  for (int part = 1; part <= 2; ++part) {
    store_rows<Math::kRows>(
        tiles.resident(part - 1), first_row,
        head.of_qkv(operands.dqkv, part).from(warp_key).part(first_column, P::kPart),
        extents.rows_from(warp_key));
  }
}

/// A block takes kResident queries of a head and passes over the keys that they see.
template <class Math, int kWidth>
__global__ void __launch_bounds__(Plan<Math, kWidth>::kThreads, 1)
    query_gradient_kernel(BackwardOperands<typename Math::Element> operands, Extents extents) {
  using T = typename Math::Element;
  using Sum = typename Math::Sum;
  using P = Plan<Math, kWidth>;
  constexpr int kKeys = P::kBackward;
  extern __shared__ __align__(16) unsigned char memory[];
  const BackwardTiles<Math, kWidth> tiles(memory);
  const int first_row = static_cast<int>(threadIdx.x / 32) * Math::kRows;
  const int first_column = static_cast<int>(blockIdx.z) * P::kPart;

  const Head<T> head = extents.template head<T>(blockIdx.x);
  // The last queries see the most keys: they come first.
  const std::int64_t first_query =
      static_cast<std::int64_t>(gridDim.y - 1 - blockIdx.y) * P::kResident;
  const std::int64_t warp_query = first_query + first_row;
  const std::int64_t keys =
      extents.causal ? min(first_query + P::kResident, extents.steps) : extents.steps;
  const auto load = [&](std::int64_t first, int turn) {
#pragma unroll
    for (int part = 1; part <= 2; ++part) {
      load_tile<kKeys, P::kThreads>(tiles.passing(turn, part - 1),
                                    head.of_qkv(operands.qkv, part).from(first),
                                    extents.rows_from(first));
    }
    commit_copies();
  };
  load_tile<P::kResident, P::kThreads>(tiles.resident(0),
                                       head.of_qkv(operands.qkv, 0).from(first_query),
                                       extents.rows_from(first_query));
  load_tile<P::kResident, P::kThreads>(tiles.resident(1),
                                       head.of_rows(operands.dy).from(first_query),
                                       extents.rows_from(first_query));
  load(0, 0);

  const Sum scale = static_cast<Sum>(extents.scale) * kLog2E<Sum>;
  Sum logsum[Math::kOwnRows];
  Sum along[Math::kOwnRows];
#pragma unroll
  for (int i = 0; i < Math::kOwnRows; ++i) {
    const std::int64_t query = warp_query + Math::row(i);
    const bool exists = query < extents.steps;
    logsum[i] = exists ? operands.logsum[head.of_sums() + query] * kLog2E<Sum> : Sum{0};
    along[i] = exists ? operands.along[head.of_sums() + query] : Sum{0};
  }
  typename Math::template Part<P::kPart> dqueries{};
  int turn = 0;
  for (std::int64_t first_key = 0; first_key < keys; first_key += kKeys, turn ^= 1) {
    wait_for_copies<0>();
    __syncthreads();  // this turn's tiles are there, and the last turn's are no longer read
    if (first_key + kKeys < keys) load(first_key + kKeys, turn ^ 1);

    typename Math::template Part<kKeys> weights;
    Math::score(weights, tiles.resident(0), first_row, tiles.passing(turn, 0));
    typename Math::template Part<kKeys> gradients;
    Math::score(gradients, tiles.resident(1), first_row, tiles.passing(turn, 1));
#pragma unroll
    for (int i = 0; i < Math::kOwnRows; ++i) {
      const std::int64_t query = warp_query + Math::row(i);
#pragma unroll
      for (int j = 0; j < kKeys / Math::kRowLanes; ++j) {
        const std::int64_t key = first_key + Math::score_column(j);
        const bool seen = key < extents.steps && (!extents.causal || key <= query);
        const Sum weight = seen ? Math::exp2(weights.value[i][j] * scale - logsum[i]) : Sum{0};
        gradients.value[i][j] = weight * (gradients.value[i][j] - along[i]);
      }
    }
    Math::gather(dqueries, gradients, tiles.passing(turn, 0).from_column(first_column),
                 tiles.exchange());
  }

#pragma unroll
  for (int i = 0; i < Math::kOwnRows; ++i) {
#pragma unroll
    for (int j = 0; j < P::kPart / Math::kRowLanes; ++j) {
      tiles.resident(0).at(first_row + Math::row(i), Math::result_column(j)) =
          convert<T>(dqueries.value[i][j] * static_cast<Sum>(extents.scale));
    }
  }
  store_rows<Math::kRows>(
      tiles.resident(0), first_row,
      head.of_qkv(operands.dqkv, 0).from(warp_query).part(first_column, P::kPart),
      extents.rows_from(warp_query));
}

}  // namespace
}  // namespace attention

void CudaBackend::attention_backward(const AttentionOptions& options, ConstTensor qkv,
                                     ConstTensor y, ConstTensor logsum, ConstTensor dy, Tensor dqkv,
                                     MathMode math) {
  using namespace attention;
  const Extents extents = extents_of(options, qkv, y, {dy.data, dqkv.data});
  const Queue& queue = own("attention_backward", qkv.dtype);
  require(logsum.bytes() <= queue.scratch_bytes, "a number a row fits the scratch memory");
  dispatch_choice(extents, qkv.dtype, math, [&](auto choice) {
    using Math = typename decltype(choice)::Math;
    using P = typename decltype(choice)::P;
    using T = typename Math::Element;
    using Acc = Accumulator<T>;
    const BackwardOperands<T> operands{.qkv = elements_of<T>(qkv),
                                       .y = elements_of<T>(y),
                                       .logsum = elements_of<Acc>(logsum),
                                       .dy = elements_of<T>(dy),
                                       .along = static_cast<Acc*>(queue.scratch),
                                       .dqkv = elements_of<T>(dqkv)};
    along_kernel<T>
        <<<grid_size(queue, logsum.elements() * 8), kBlock, 0, queue.stream>>>(operands, extents);
    TRAINBENCH_LAUNCHED();
    constexpr int kBytes = BackwardMemory<Math, P::kWidth>::kBytes;
    launch<P>(queue, extents, kBytes, key_gradient_kernel<Math, P::kWidth>, operands);
    launch<P>(queue, extents, kBytes, query_gradient_kernel<Math, P::kWidth>, operands);
  });
}

}  // namespace trainbench::gpu
