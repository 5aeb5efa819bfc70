#include <cmath>

#include "gpu/cuda_backend_impl.h"
#include "gpu/vector.cuh"

namespace trainbench::gpu {
namespace {

__device__ float exponential(float x) { return expf(x); }
__device__ double exponential(double x) { return exp(x); }
__device__ float logarithm(float x) { return logf(x); }
__device__ double logarithm(double x) { return log(x); }

/// kThreads threads share a row; kBlock / kThreads rows share a block.
template <int kThreads, class T>
__global__ void __launch_bounds__(kBlock)
    softmax_cross_entropy_kernel(const T* logits, const std::int32_t* labels,
                                 Accumulator<T>* losses, T* gradient, const StepState* state,
                                 std::int64_t rows, std::int64_t classes) {
  using Acc = Accumulator<T>;
  constexpr int kRows = kBlock / kThreads;
  const int lane = threadIdx.x % kThreads;
  const Acc factor = static_cast<Acc>(state->loss_scale) / static_cast<Acc>(rows);

  // The bound is the same for all threads of a row, so that all of them meet in the reductions.
  for (std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kRows + threadIdx.x / kThreads;
       row < rows; row += static_cast<std::int64_t>(gridDim.x) * kRows) {
    const T* const x = logits + row * classes;
    Acc largest = -INFINITY;
    for (std::int64_t c = lane; c < classes; c += kThreads) {
      largest = Max{}(largest, convert<Acc>(x[c]));
    }
    largest = reduce_group<kThreads>(largest, Max{});
    Acc sum = 0;
    for (std::int64_t c = lane; c < classes; c += kThreads) {
      sum += exponential(convert<Acc>(x[c]) - largest);
    }
    sum = reduce_group<kThreads>(sum, Add{});

    const std::int32_t label = labels[row];
    if (losses != nullptr && lane == 0) {
      const bool known = label >= 0 && label < classes;
      losses[row] =
          known ? largest + logarithm(sum) - convert<Acc>(x[label]) : static_cast<Acc>(NAN);
    }
    if (gradient == nullptr) continue;
    for (std::int64_t c = lane; c < classes; c += kThreads) {
      const Acc probability = exponential(convert<Acc>(x[c]) - largest) / sum;
      const Acc target = c == label ? Acc{1} : Acc{0};
      gradient[row * classes + c] = convert<T>((probability - target) * factor);
    }
  }
}

/// A block takes a sample; `gradient` or `losses` may be null.
template <int N, class T>
__global__ void __launch_bounds__(kBlock)
    mean_squared_error_kernel(const T* prediction, const T* target, Accumulator<T>* losses,
                              T* gradient, const StepState* state, std::int64_t samples,
                              std::int64_t elements) {
  using Acc = Accumulator<T>;
  const Acc factor = static_cast<Acc>(2.0 * static_cast<double>(state->loss_scale) /
                                      static_cast<double>(samples * elements));
  for (std::int64_t sample = blockIdx.x; sample < samples; sample += gridDim.x) {
    Acc sum = 0;
#pragma unroll 1  // unrolled by nvcc 13, the last store of a pack falls apart into elements
    for (std::int64_t i = threadIdx.x * N; i < elements; i += kBlock * N) {
      const auto value = Pack<T, N>::load(prediction + sample * elements + i);
      const auto wanted = Pack<T, N>::load(target + sample * elements + i);
      Acc difference[N];
#pragma unroll
      for (int lane = 0; lane < N; ++lane) {
        difference[lane] = convert<Acc>(value.lane[lane]) - convert<Acc>(wanted.lane[lane]);
        sum += difference[lane] * difference[lane];
      }
      if (gradient == nullptr) continue;
      Pack<T, N> slope;
#pragma unroll
      for (int lane = 0; lane < N; ++lane) slope.lane[lane] = convert<T>(difference[lane] * factor);
      slope.store(gradient + sample * elements + i);
    }
    if (losses == nullptr) continue;
    const double total = reduce_group<kBlock>(static_cast<double>(sum), Add{});
    if (threadIdx.x == 0) losses[sample] = static_cast<Acc>(total / static_cast<double>(elements));
  }
}

template <class Acc>
__global__ void __launch_bounds__(kBlock)
    mean_kernel(const Acc* values, Acc* mean, std::int64_t count) {
  Acc sum = 0;
  for (std::int64_t i = threadIdx.x; i < count; i += kBlock) sum += values[i];
  sum = reduce_group<kBlock>(sum, Add{});
  if (threadIdx.x == 0) *mean = sum / static_cast<Acc>(count);
}

}  // namespace

void softmax_cross_entropy(const Queue& queue, ConstTensor logits, ConstTensor labels,
                           Tensor losses, Tensor gradient, ConstTensor state) {
  require(logits.shape.rank() == 2, "logits are [b, c]");
  const std::int64_t rows = logits.shape[0];
  const std::int64_t classes = logits.shape[1];
  require(labels.dtype == DType::i32 && labels.elements() == rows, "one i32 label a row");
  dispatch_float(logits.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    const auto launch = [&](auto threads) {
      constexpr int kThreads = decltype(threads)::value;
      softmax_cross_entropy_kernel<kThreads>
          <<<grid_size(queue, rows * kThreads), kBlock, 0, queue.stream>>>(
              elements_of<T>(logits), elements_of<std::int32_t>(labels),
              elements_of<Accumulator<T>>(losses), elements_of<T>(gradient),
              elements_of<StepState>(state), rows, classes);
    };
    // A warp keeps up with a short row; a long one, such as a vocabulary, needs a block.
    if (classes <= 1024) {
      launch(Width<32>{});
    } else {
      launch(Width<kBlock>{});
    }
  });
  TRAINBENCH_LAUNCHED();
}

void mean(const Queue& queue, ConstTensor values, Tensor mean) {
  dispatch_float(values.dtype, [&](auto tag) {
    using T = Accumulator<DeviceElement<decltype(tag)>>;
    require(values.dtype == dtype_of<T>() && mean.dtype == values.dtype,
            "a mean is taken of f32 or f64");
    mean_kernel<<<1, kBlock, 0, queue.stream>>>(elements_of<T>(values), elements_of<T>(mean),
                                                values.elements());
  });
  TRAINBENCH_LAUNCHED();
}

void CudaBackend::mean_squared_error(ConstTensor prediction, ConstTensor target, Tensor losses,
                                     Tensor gradient, ConstTensor state) {
  const Queue& queue = own("mean_squared_error", prediction.dtype);
  require(prediction.shape == target.shape, "a prediction and its target have one shape");
  const std::int64_t samples = prediction.shape[0];
  const std::int64_t elements = prediction.elements() / std::max<std::int64_t>(samples, 1);
  dispatch_float(prediction.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    const bool vector = whole_packs<T>(elements, prediction.data, target.data, gradient.data);
    dispatch_vector<T>(vector, [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      mean_squared_error_kernel<kWidth>
          <<<grid_size(queue, samples * kBlock), kBlock, 0, queue.stream>>>(
              elements_of<T>(prediction), elements_of<T>(target),
              elements_of<Accumulator<T>>(losses), elements_of<T>(gradient),
              elements_of<StepState>(state), samples, elements);
    });
  });
  TRAINBENCH_LAUNCHED();
}

}  // namespace trainbench::gpu
