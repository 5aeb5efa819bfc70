#include <cmath>

#include "gpu/cuda_backend_impl.h"
#include "gpu/vector.cuh"

namespace trainbench::gpu {
namespace {

/// kThreads threads share a row of x[rows, columns], where rows of one matrix come in order.
template <int kThreads, class T>
__global__ void __launch_bounds__(kBlock)
    softmax_kernel(T* x, std::int64_t rows, std::int64_t columns, Accumulator<T> scale,
                   bool causal) {
  using Acc = Accumulator<T>;
  constexpr int kRows = kBlock / kThreads;
  const int lane = threadIdx.x % kThreads;
  // The bound is the same for all threads of a row, so that all of them meet in the reductions.
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kRows + threadIdx.x / kThreads;
       row < rows; row += static_cast<std::int64_t>(gridDim.x) * kRows) {
    T* const first = x + row * columns;
    const std::int64_t visible = causal ? row % columns + 1 : columns;
    Acc largest = -INFINITY;
    for (std::int64_t i = lane; i < visible; i += kThreads) {
      largest = Max{}(largest, scale * convert<Acc>(first[i]));
    }
    largest = reduce_group<kThreads>(largest, Max{});
    Acc sum = 0;
    for (std::int64_t i = lane; i < visible; i += kThreads) {
      sum += exp(scale * convert<Acc>(first[i]) - largest);
    }
    const Acc inverse = Acc{1} / reduce_group<kThreads>(sum, Add{});
    for (std::int64_t i = lane; i < columns; i += kThreads) {
      const Acc weight =
          i < visible ? exp(scale * convert<Acc>(first[i]) - largest) * inverse : Acc{0};
      first[i] = convert<T>(weight);
    }
  }
}

template <int kThreads, class T>
__global__ void __launch_bounds__(kBlock)
    softmax_backward_kernel(const T* y, T* dy, std::int64_t rows, std::int64_t columns,
                            Accumulator<T> scale) {
  using Acc = Accumulator<T>;
  constexpr int kRows = kBlock / kThreads;
  const int lane = threadIdx.x % kThreads;
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kRows + threadIdx.x / kThreads;
       row < rows; row += static_cast<std::int64_t>(gridDim.x) * kRows) {
    const T* const weights = y + row * columns;
    T* const slopes = dy + row * columns;
    Acc along = 0;
    for (std::int64_t i = lane; i < columns; i += kThreads) {
      along += convert<Acc>(weights[i]) * convert<Acc>(slopes[i]);
    }
    along = reduce_group<kThreads>(along, Add{});
    for (std::int64_t i = lane; i < columns; i += kThreads) {
      slopes[i] = convert<T>(scale * convert<Acc>(weights[i]) * (convert<Acc>(slopes[i]) - along));
    }
  }
}

/// Calls `f` with the threads that share a row: a warp keeps up with a short one.
template <class F>
void dispatch_threads(std::int64_t columns, F&& f) {
  if (columns <= 1024) {
    f(Width<32>{});
  } else {
    f(Width<kBlock>{});
  }
}

}  // namespace

void CudaBackend::softmax(double scale, bool causal, Tensor x) {
  require(x.shape.rank() == 3 && x.shape[1] == x.shape[2], "softmax works on square matrices");
  const Queue& queue = own("softmax", x.dtype);
  const std::int64_t rows = x.shape[0] * x.shape[1];
  dispatch_float(x.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    dispatch_threads(x.shape[2], [&](auto threads) {
      constexpr int kThreads = decltype(threads)::value;
      softmax_kernel<kThreads><<<grid_size(queue, rows * kThreads), kBlock, 0, queue.stream>>>(
          elements_of<T>(x), rows, x.shape[2], static_cast<Accumulator<T>>(scale), causal);
    });
  });
  TRAINBENCH_LAUNCHED();
}

void CudaBackend::softmax_backward(double scale, ConstTensor y, Tensor dy) {
  require(y.shape == dy.shape && y.shape.rank() == 3, "a softmax and its gradient have one shape");
  const Queue& queue = own("softmax_backward", y.dtype);
  const std::int64_t rows = y.shape[0] * y.shape[1];
  dispatch_float(y.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    dispatch_threads(y.shape[2], [&](auto threads) {
      constexpr int kThreads = decltype(threads)::value;
      softmax_backward_kernel<kThreads>
          <<<grid_size(queue, rows * kThreads), kBlock, 0, queue.stream>>>(
              elements_of<T>(y), elements_of<T>(dy), rows, y.shape[2],
              static_cast<Accumulator<T>>(scale));
    });
  });
  TRAINBENCH_LAUNCHED();
}

}  // namespace trainbench::gpu
