#include "gpu/attention_launch.cuh"
#include "gpu/attention_tile.cuh"
#include "gpu/cuda_backend_impl.h"

namespace trainbench::gpu {
namespace attention {
namespace {

template <class T>
struct ForwardOperands {
  const T* qkv;
  T* y;
  Accumulator<T>* logsum;
};

template <class Math, int kWidth>
struct ForwardMemory {
  using P = Plan<Math, kWidth>;
  using Rows = Tile<typename Math::Element, kWidth>;
  static constexpr int kBytes = Rows::bytes(P::kResident + 2 * P::kForward) +
                                P::kWarps * Math::template kExchange<P::kForward> *
                                    static_cast<int>(sizeof(typename Math::Sum));
};

/// The softmax of a warp's rows, renewed as tiles of keys arrive (Milakov and Gimelshein, arXiv
/// 1805.02867). Arguments are to base 2.
template <class Math>
struct RunningSoftmax {
  using Sum = typename Math::Sum;
  Sum largest[Math::kOwnRows];
  Sum sum[Math::kOwnRows];  // of this thread's columns

  __device__ RunningSoftmax() {
#pragma unroll
    for (int i = 0; i < Math::kOwnRows; ++i) {
      largest[i] = -INFINITY;
      sum[i] = 0;
    }
  }

  /// Scores become weights relative to the largest so far; `results` follow it.
  template <int kColumns, int kPart>
  __device__ void renew(typename Math::template Part<kColumns>& scores,
                        typename Math::template Part<kPart>& results) {
#pragma unroll
    for (int i = 0; i < Math::kOwnRows; ++i) {
      Sum most = largest[i];
#pragma unroll
      for (int j = 0; j < kColumns / Math::kRowLanes; ++j) {
        most = Max{}(most, scores.value[i][j]);
      }
      most = over_row(most, Max{});
      const Sum factor = Math::exp2(largest[i] - most);
      largest[i] = most;
      sum[i] *= factor;
#pragma unroll
      for (int j = 0; j < kColumns / Math::kRowLanes; ++j) {
        scores.value[i][j] = Math::exp2(scores.value[i][j] - most);
        sum[i] += scores.value[i][j];
      }
#pragma unroll
      for (int j = 0; j < kPart / Math::kRowLanes; ++j) results.value[i][j] *= factor;
    }
  }

  template <class Combine>
  __device__ static Sum over_row(Sum value, Combine combine) {
#pragma unroll
    for (int offset = 1; offset < Math::kRowLanes; offset *= 2) {
      value = combine(value, __shfl_xor_sync(0xffffffffu, value, offset));
    }
    return value;
  }
};

/// A block takes kResident queries of a head (grid: heads of all samples, tiles of queries, parts
/// of the width) and passes over the keys that they see. Keys and values have a tile each: one is
/// copied while the other is used.
template <class Math, int kWidth>
__global__ void __launch_bounds__(Plan<Math, kWidth>::kThreads, 1)
    attention_kernel(ForwardOperands<typename Math::Element> operands, Extents extents) {
  using T = typename Math::Element;
  using Sum = typename Math::Sum;
  using P = Plan<Math, kWidth>;
  constexpr int kKeys = P::kForward;
  extern __shared__ __align__(16) unsigned char memory[];
  const Tile<T, kWidth> query_tile{reinterpret_cast<T*>(memory)};
  const Tile<T, kWidth> key_tile{query_tile.data + P::kResident * kWidth};
  const Tile<T, kWidth> value_tile{key_tile.data + kKeys * kWidth};
  const auto warp = static_cast<int>(threadIdx.x / 32);
  Sum* const exchange = reinterpret_cast<Sum*>(value_tile.data + kKeys * kWidth) +
                        warp * Math::template kExchange<kKeys>;

  const int first_column = static_cast<int>(blockIdx.z) * P::kPart;
  const Head<T> head = extents.template head<T>(blockIdx.x);
  // The last queries see the most keys: they come first.
  const std::int64_t first_query =
      static_cast<std::int64_t>(gridDim.y - 1 - blockIdx.y) * P::kResident;
  const std::int64_t keys =
      extents.causal ? min(first_query + P::kResident, extents.steps) : extents.steps;
  const Rows<const T> key_rows = head.of_qkv(operands.qkv, 1);
  const Rows<const T> value_rows = head.of_qkv(operands.qkv, 2);
  const auto rest = [&](std::int64_t first) { return extents.rows_from(first); };

  load_tile<P::kResident, P::kThreads>(query_tile, head.of_qkv(operands.qkv, 0).from(first_query),
                                       rest(first_query));
  load_tile<kKeys, P::kThreads>(key_tile, key_rows, rest(0));
  commit_copies();

  constexpr Sum kLog2E = static_cast<Sum>(1.4426950408889634074);
  constexpr Sum kLn2 = static_cast<Sum>(0.69314718055994530942);
  const Sum scale = static_cast<Sum>(extents.scale) * kLog2E;
  typename Math::template Part<P::kPart> results{};
  RunningSoftmax<Math> softmax;
  const std::int64_t warp_query = first_query + warp * Math::kRows;
  for (std::int64_t first_key = 0; first_key < keys; first_key += kKeys) {
    wait_for_copies<0>();
    __syncthreads();  // the keys are there, and the last values are no longer read
    load_tile<kKeys, P::kThreads>(value_tile, value_rows.from(first_key), rest(first_key));
    commit_copies();

    typename Math::template Part<kKeys> scores;
    Math::score(scores, query_tile, warp * Math::kRows, key_tile);
    const bool whole = first_key + kKeys <= extents.steps &&
                       (!extents.causal || first_key + kKeys <= warp_query + 1);
#pragma unroll
    for (int i = 0; i < Math::kOwnRows; ++i) {
      const std::int64_t query = warp_query + Math::row(i);
#pragma unroll
      for (int j = 0; j < kKeys / Math::kRowLanes; ++j) {
        const std::int64_t key = first_key + Math::score_column(j);
        const bool seen = whole || (key < extents.steps && (!extents.causal || key <= query));
        scores.value[i][j] = seen ? scores.value[i][j] * scale : -static_cast<Sum>(INFINITY);
      }
    }
    softmax.renew(scores, results);

    wait_for_copies<0>();
    __syncthreads();  // the values are there, and the keys are no longer read
    if (first_key + kKeys < keys) {
      load_tile<kKeys, P::kThreads>(key_tile, key_rows.from(first_key + kKeys),
                                    rest(first_key + kKeys));
    }
    commit_copies();
    Math::gather(results, scores, value_tile.from_column(first_column), exchange);
  }

  // A warp's queries are its own: their place takes the results on the way to memory.
#pragma unroll
  for (int i = 0; i < Math::kOwnRows; ++i) {
    const Sum total = softmax.over_row(softmax.sum[i], Add{});
    const std::int64_t query = warp_query + Math::row(i);
    if (first_column == 0 && Math::score_column(0) == 0 && query < extents.steps) {
      operands.logsum[head.of_sums() + query] = (softmax.largest[i] + log2(total)) * kLn2;
    }
#pragma unroll
    for (int j = 0; j < P::kPart / Math::kRowLanes; ++j) {
      query_tile.at(warp * Math::kRows + Math::row(i), Math::result_column(j)) =
          convert<T>(results.value[i][j] / total);
    }
  }
  store_rows<Math::kRows>(query_tile, warp * Math::kRows,
                          head.of_rows(operands.y).from(warp_query).part(first_column, P::kPart),
                          rest(warp_query));
}

}  // namespace
}  // namespace attention

void CudaBackend::attention(const AttentionOptions& options, ConstTensor qkv, Tensor y,
                            Tensor logsum, MathMode math) {
  using namespace attention;
  const Extents extents = extents_of(options, qkv, y, {y.data});
  const Queue& queue = own("attention", qkv.dtype);
  dispatch_choice(extents, qkv.dtype, math, [&](auto choice) {
    using Math = typename decltype(choice)::Math;
    using P = typename decltype(choice)::P;
    using T = typename Math::Element;
    launch<P>(queue, extents, ForwardMemory<Math, P::kWidth>::kBytes,
              attention_kernel<Math, P::kWidth>,
              ForwardOperands<T>{elements_of<T>(qkv), elements_of<T>(y),
                                 elements_of<Accumulator<T>>(logsum)});
  });
}

}  // namespace trainbench::gpu
