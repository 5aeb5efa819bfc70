#include <cmath>
#include <utility>

#include "gpu/cuda_backend_impl.h"
#include "gpu/strips.cuh"

namespace trainbench::gpu {
namespace {

/// Packs of a row that a thread keeps in registers; the others, of rows longer than 128 packs for a
/// warp and 1024 for a block, are read again by each pass over the row.
constexpr int kHeld = 4;

// Both kernels are told that one block an SM will do, lest they spill what they hold: the bytes
// under way are those of 8 warps with up to 8 accesses a thread.

/// f(slot, column) for the columns of a thread's packs, kThreads threads sharing a row: slots
/// Width<0> to Width<kHeld - 1> for those in registers, Width<kHeld> for the others.
template <int kThreads, int N, class F>
__device__ void for_row(std::int64_t columns, F f) {
  const std::int64_t first = static_cast<std::int64_t>(threadIdx.x % kThreads) * N;
  const auto held = [&](auto slot) {
    const std::int64_t column = first + decltype(slot)::value * kThreads * N;
    if (column < columns) f(slot, column);
  };
  [&]<int... kSlot>(std::integer_sequence<int, kSlot...>) { (held(Width<kSlot>{}), ...); }
  (std::make_integer_sequence<int, kHeld>{});
  for (std::int64_t column = first + kHeld * kThreads * N; column < columns;
       column += kThreads * N) {
    f(Width<kHeld>{}, column);
  }
}

/// A row, as far as it is held.
template <int N, class T>
struct HeldRow {
  Pack<T, N> held[kHeld];

  template <int kSlot>
  __device__ void hold(Width<kSlot>, const Pack<T, N>& pack) {
    if constexpr (kSlot < kHeld) held[kSlot] = pack;
  }
  /// The pack at `from`, where the row lies.
  template <int kSlot>
  __device__ Pack<T, N> at(Width<kSlot>, const T* from) const {
    if constexpr (kSlot < kHeld) {
      return held[kSlot];
    } else {
      return Pack<T, N>::load(from);
    }
  }
};

template <class T>
struct Forward {
  T* x;
  const T* residual;  ///< or null
  const T* gamma;
  const T* beta;
  Accumulator<T>* mean;
  Accumulator<T>* inverse;
  T* y;
  Accumulator<T> epsilon;
  std::int64_t rows;
  std::int64_t columns;
};

/// kThreads threads share a row; the variance is summed about the mean, as nothing cancels then.
template <int kThreads, int N, class T>
__global__ void __launch_bounds__(kBlock, 1) layer_norm_kernel(Forward<T> o) {
  using Acc = Accumulator<T>;
  constexpr int kRows = kBlock / kThreads;
  HeldRow<N, T> x, gamma, beta;
  for_row<kThreads, N>(o.columns, [&](auto slot, std::int64_t column) {
    gamma.hold(slot, Pack<T, N>::load(o.gamma + column));
    beta.hold(slot, Pack<T, N>::load(o.beta + column));
  });
  const Acc count = static_cast<Acc>(o.columns);
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kRows + threadIdx.x / kThreads;
       row < o.rows; row += static_cast<std::int64_t>(gridDim.x) * kRows) {
    T* const from = o.x + row * o.columns;
    Acc sum = 0;
    for_row<kThreads, N>(o.columns, [&](auto slot, std::int64_t column) {
      auto value = Pack<T, N>::load(from + column);
      if (o.residual != nullptr) {
        const auto more = Pack<T, N>::load(o.residual + row * o.columns + column);
#pragma unroll
        for (int lane = 0; lane < N; ++lane) {
          value.lane[lane] =
              convert<T>(convert<Acc>(value.lane[lane]) + convert<Acc>(more.lane[lane]));
        }
        value.store(from + column);
      }
      x.hold(slot, value);
#pragma unroll
      for (int lane = 0; lane < N; ++lane) sum += convert<Acc>(value.lane[lane]);
    });
    const Acc mean = reduce_group<kThreads>(sum, Add{}) / count;
    Acc squares = 0;
    for_row<kThreads, N>(o.columns, [&](auto slot, std::int64_t column) {
      const auto value = x.at(slot, from + column);
#pragma unroll
      for (int lane = 0; lane < N; ++lane) {
        const Acc deviation = convert<Acc>(value.lane[lane]) - mean;
        squares += deviation * deviation;
      }
    });
    const Acc variance = reduce_group<kThreads>(squares, Add{}) / count;
    const Acc inverse = Acc{1} / sqrt(variance + o.epsilon);
    if (threadIdx.x % kThreads == 0) {
      o.mean[row] = mean;
      o.inverse[row] = inverse;
    }
    for_row<kThreads, N>(o.columns, [&](auto slot, std::int64_t column) {
      auto value = x.at(slot, from + column);
      const auto scale = gamma.at(slot, o.gamma + column);
      const auto shift = beta.at(slot, o.beta + column);
#pragma unroll
      for (int lane = 0; lane < N; ++lane) {
        value.lane[lane] = convert<T>((convert<Acc>(value.lane[lane]) - mean) * inverse *
                                          convert<Acc>(scale.lane[lane]) +
                                      convert<Acc>(shift.lane[lane]));
      }
      value.store(o.y + row * o.columns + column);
    });
  }
}

template <class T>
struct Backward {
  const T* x;
  const T* dy;
  const T* gamma;
  const Accumulator<T>* mean;
  const Accumulator<T>* inverse;
  const T* dresidual;  ///< or null; may be dx
  T* dx;
  Accumulator<T>* partial;  ///< [blocks, 2, columns]: a block's dgamma and dbeta
  std::int64_t rows;
  std::int64_t columns;
};

/// A thread's share of dgamma and dbeta: columns that it holds in registers, the others in the
/// block's row of the partial sums.
template <int N, class T>
struct WeightGradients {
  using Acc = Accumulator<T>;
  Acc dgamma[kHeld][N] = {};
  Acc dbeta[kHeld][N] = {};

  template <int kSlot>
  __device__ void add(Width<kSlot>, Acc* partial, std::int64_t columns, int lane, Acc product,
                      Acc slope) {
    if constexpr (kSlot < kHeld) {
      dgamma[kSlot][lane] += product;
      dbeta[kSlot][lane] += slope;
    } else {
      partial[lane] += product;
      partial[columns + lane] += slope;
    }
  }
};

/// dx = inverse (dy gamma - mean of dy gamma - normal mean of dy gamma normal) + dresidual.
template <int kThreads, int N, class T>
__global__ void __launch_bounds__(kBlock, 1) layer_norm_backward_kernel(Backward<T> o) {
  using Acc = Accumulator<T>;
  constexpr int kRows = kBlock / kThreads;
  Acc* const partial = o.partial + static_cast<std::int64_t>(blockIdx.x) * 2 * o.columns;
  const Acc count = static_cast<Acc>(o.columns);
  HeldRow<N, T> x, dy, gamma;
  WeightGradients<N, T> gradients;
  for_row<kThreads, N>(o.columns, [&](auto slot, std::int64_t column) {
    gamma.hold(slot, Pack<T, N>::load(o.gamma + column));
    if constexpr (decltype(slot)::value == kHeld) {
#pragma unroll
      for (int lane = 0; lane < N; ++lane) {
        partial[column + lane] = partial[o.columns + column + lane] = 0;
      }
    }
  });
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kRows + threadIdx.x / kThreads;
       row < o.rows; row += static_cast<std::int64_t>(gridDim.x) * kRows) {
    const std::int64_t offset = row * o.columns;
    const Acc mean = o.mean[row];
    const Acc inverse = o.inverse[row];
    Acc level = 0;
    Acc along = 0;
    for_row<kThreads, N>(o.columns, [&](auto slot, std::int64_t column) {
      const auto value = Pack<T, N>::load(o.x + offset + column);
      const auto gradient = Pack<T, N>::load(o.dy + offset + column);
      const auto scale = gamma.at(slot, o.gamma + column);
      x.hold(slot, value);
      dy.hold(slot, gradient);
#pragma unroll
      for (int lane = 0; lane < N; ++lane) {
        const Acc normal = (convert<Acc>(value.lane[lane]) - mean) * inverse;
        const Acc slope = convert<Acc>(gradient.lane[lane]);
        const Acc scaled = slope * convert<Acc>(scale.lane[lane]);
        gradients.add(slot, partial + column, o.columns, lane, slope * normal, slope);
        level += scaled;
        along += scaled * normal;
      }
    });
    level = reduce_group<kThreads>(level, Add{}) / count;
    along = reduce_group<kThreads>(along, Add{}) / count;
    for_row<kThreads, N>(o.columns, [&](auto slot, std::int64_t column) {
      const auto value = x.at(slot, o.x + offset + column);
      const auto gradient = dy.at(slot, o.dy + offset + column);
      const auto scale = gamma.at(slot, o.gamma + column);
      Pack<T, N> added{};
      if (o.dresidual != nullptr) added = Pack<T, N>::load(o.dresidual + offset + column);
      Pack<T, N> result;
#pragma unroll
      for (int lane = 0; lane < N; ++lane) {
        const Acc normal = (convert<Acc>(value.lane[lane]) - mean) * inverse;
        Acc slope = convert<Acc>(gradient.lane[lane]) * convert<Acc>(scale.lane[lane]);
        slope = inverse * (slope - level - normal * along);
        if (o.dresidual != nullptr) slope += convert<Acc>(added.lane[lane]);
        result.lane[lane] = convert<T>(slope);
      }
      result.store(o.dx + offset + column);
    });
  }
  for_row<kThreads, N>(kThreads * N * kHeld, [&](auto slot, std::int64_t column) {
    constexpr int kSlot = decltype(slot)::value;
    if constexpr (kSlot != kHeld) {
      if constexpr (kRows > 1) {
        sum_down(gradients.dgamma[kSlot], kThreads);
        sum_down(gradients.dbeta[kSlot], kThreads);
      }
      if (threadIdx.x >= kThreads || column >= o.columns) return;
      store_lanes<N>(gradients.dgamma[kSlot], partial + column);
      store_lanes<N>(gradients.dbeta[kSlot], partial + o.columns + column);
    }
  });
}

/// Calls `f` with the number of threads that share a row of so many packs: a warp where it can hold
/// them, else a block.
template <class F>
void dispatch_threads(std::int64_t packs, F&& f) {
  if (packs <= 32 * kHeld) {
    f(Width<32>{});
  } else {
    f(Width<kBlock>{});
  }
}

}  // namespace

void CudaBackend::layer_norm(double epsilon, Tensor x, ConstTensor residual,
                             const NormWeights& weights, Tensor mean, Tensor inverse, Tensor y) {
  const Queue& queue = own("layer_norm", x.dtype);
  require(x.shape.rank() == 2 && y.shape == x.shape, "a layer norm works on the rows of a matrix");
  const std::int64_t columns = x.shape[1];
  require(weights.gamma.elements() == columns && weights.beta.elements() == columns,
          "a layer norm has a weight and a bias for each column");
  dispatch_float(x.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    using Acc = Accumulator<T>;
    const Forward<T> o{.x = elements_of<T>(x),
                       .residual = elements_of<T>(residual),
                       .gamma = elements_of<T>(weights.gamma),
                       .beta = elements_of<T>(weights.beta),
                       .mean = elements_of<Acc>(mean),
                       .inverse = elements_of<Acc>(inverse),
                       .y = elements_of<T>(y),
                       .epsilon = static_cast<Acc>(epsilon),
                       .rows = x.shape[0],
                       .columns = columns};
    const auto launch = [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      dispatch_threads(columns / kWidth, [&](auto threads) {
        constexpr int kThreads = decltype(threads)::value;
        // Few, so that each loads gamma and beta for many rows.
        const std::int64_t blocks =
            std::min<std::int64_t>((o.rows * kThreads + kBlock - 1) / kBlock, 2 * queue.units);
        layer_norm_kernel<kThreads, kWidth>
            <<<static_cast<unsigned>(blocks), kBlock, 0, queue.stream>>>(o);
      });
    };
    dispatch_vector<T>(whole_packs<T>(columns, o.x, o.residual, o.gamma, o.beta, o.y), launch);
  });
  TRAINBENCH_LAUNCHED();
}

void CudaBackend::layer_norm_backward(ConstTensor x, ConstTensor dy, ConstTensor gamma,
                                      ConstTensor mean, ConstTensor inverse, ConstTensor dresidual,
                                      Tensor dx, const NormGradients& gradients) {
  const Queue& queue = own("layer_norm_backward", x.dtype);
  require(x.shape.rank() == 2 && dx.shape == x.shape, "a layer norm works on the rows of a matrix");
  const std::int64_t rows = x.shape[0];
  const std::int64_t columns = x.shape[1];
  dispatch_float(x.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    using Acc = Accumulator<T>;
    Backward<T> o{.x = elements_of<T>(x),
                  .dy = elements_of<T>(dy),
                  .gamma = elements_of<T>(gamma),
                  .mean = elements_of<Acc>(mean),
                  .inverse = elements_of<Acc>(inverse),
                  .dresidual = elements_of<T>(dresidual),
                  .dx = elements_of<T>(dx),
                  .partial = static_cast<Acc*>(queue.scratch),
                  .rows = rows,
                  .columns = columns};
    const auto fit = static_cast<std::int64_t>(queue.scratch_bytes / (2 * sizeof(Acc))) / columns;
    require(fit > 0, "a row of partial sums fits in the scratch");
    std::int64_t blocks = 0;
    const auto launch = [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      dispatch_threads(columns / kWidth, [&](auto threads) {
        constexpr int kThreads = decltype(threads)::value;
        constexpr int kRows = kBlock / kThreads;
        // As many as are resident, by their registers: each costs the second stage a row.
        blocks = std::min({(rows + kRows - 1) / kRows, std::int64_t{queue.units}, fit});
        layer_norm_backward_kernel<kThreads, kWidth>
            <<<static_cast<unsigned>(blocks), kBlock, 0, queue.stream>>>(o);
      });
    };
    dispatch_vector<T>(whole_packs<T>(columns, o.x, o.dy, o.gamma, o.dresidual, o.dx), launch);
    TRAINBENCH_LAUNCHED();
    sum_pairs(queue, ConstTensor(o.partial, Shape{blocks, 2, columns}, gradients.gamma.dtype),
              gradients.gamma, gradients.beta);
  });
}

}  // namespace trainbench::gpu
