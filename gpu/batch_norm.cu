#include "gpu/cuda_backend_impl.h"
#include "gpu/strips.cuh"

// Two launches each way: the last block of a strip of channels combines what all have summed, in
// the order of the chunks.

namespace trainbench::gpu {
namespace {

/// Two sums of each channel over each chunk of rows, and how many blocks have delivered theirs.
template <class Acc>
struct Partials {
  Acc* sums;          ///< [chunks, 2, channels]
  unsigned* arrived;  ///< [strips]
  int channels;

  __device__ Acc* of(int chunk) const {
    return sums + static_cast<std::int64_t>(chunk) * 2 * channels;
  }
  /// Stores the block's, which are in the threads of its first row.
  template <int N>
  __device__ void store(const StripThread& t, const Acc (&values)[2 * N]) const {
    if (!t.active || t.row > 0) return;
    Acc* const to = of(static_cast<int>(blockIdx.z)) + static_cast<std::int64_t>(t.pack) * N;
    store_lanes<N>(values, to);
    store_lanes<N>(values + N, to + channels);
  }
  __device__ bool complete() const { return last_to_arrive(arrived + blockIdx.y, gridDim.z); }
};

/// Adds up the chunks' sums of a strip's channels in double: term(chunk, first, second, sums) adds
/// a chunk's, finish(channel, sums) takes the total.
template <int N, class Acc, class Term, class Finish>
__device__ void combine(const Strips& s, const Partials<Acc>& partials, Term term, Finish finish) {
  const int begin = static_cast<int>(blockIdx.y) * s.across * N;
  const int count = min(s.across * N, partials.channels - begin);
  const int part = static_cast<int>(threadIdx.x) / count;
  const int parts = kBlock / count;
  const int channel = begin + static_cast<int>(threadIdx.x) % count;
  double sums[2] = {0, 0};
  if (part < parts) {
    for (int chunk = part; chunk < static_cast<int>(gridDim.z); chunk += parts) {
      const Acc* const from = partials.of(chunk) + channel;
      term(chunk, channel, __ldcg(from), __ldcg(from + partials.channels), sums);
    }
  }
  sum_down(sums, count);
  if (part == 0) finish(channel, sums);
}

template <class Acc>
struct Statistics {
  Acc* mean;
  Acc* inverse;
  Acc* running_mean;
  Acc* running_variance;
  double epsilon;
  double momentum;
  double per_row;   ///< 1 / rows
  double unbiased;  ///< rows / (rows - 1)

  __device__ void store(int channel, double batch_mean, double variance) const {
    mean[channel] = static_cast<Acc>(batch_mean);
    inverse[channel] = static_cast<Acc>(rsqrt(variance + epsilon));
    blend(running_mean[channel], batch_mean);
    blend(running_variance[channel], variance * unbiased);
  }
  __device__ void blend(Acc& running, double value) const {
    running = static_cast<Acc>((1 - momentum) * static_cast<double>(running) + momentum * value);
  }
};

/// Of each chunk, mean and sum of squares about it (Chan, Golub and LeVeque, "Algorithms for
/// computing the sample variance", 1983). A chunk is summed about its first row: as that is one of
/// its values, n rows lose at the most a factor n + 1 of the precision, and mostly a bit.
template <int N, class T>
__global__ void __launch_bounds__(kBlock)
    statistics_kernel(Strips s, const T* x, Partials<Accumulator<T>> partials,
                      Statistics<Accumulator<T>> statistics) {
  using Acc = Accumulator<T>;
  const StripThread t(s);
  const auto at = [&](std::int64_t row) {
    return Pack<T, N>::load(x + (row * s.packs + t.pack) * N);
  };
  Acc shift[N] = {};
  if (t.active) {
    const auto first = at(t.begin);
#pragma unroll
    for (int lane = 0; lane < N; ++lane) shift[lane] = convert<Acc>(first.lane[lane]);
  }
  Acc sums[2 * N] = {};
  t.for_rows([&](std::int64_t row) {
    const auto value = at(row);
#pragma unroll
    for (int lane = 0; lane < N; ++lane) {
      const Acc d = convert<Acc>(value.lane[lane]) - shift[lane];
      sums[lane] += d;
      sums[N + lane] += d * d;
    }
  });
  sum_down(sums, s.across);
  const Acc rows = static_cast<Acc>(t.end - t.begin);
#pragma unroll
  for (int lane = 0; lane < N; ++lane) {
    const Acc off = sums[lane] / rows;
    sums[N + lane] -= off * sums[lane];
    sums[lane] = shift[lane] + off;
  }
  partials.template store<N>(t, sums);
  if (!partials.complete()) return;

  // Sums about the first chunk's mean.
  combine<N>(
      s, partials,
      [&](int chunk, int channel, Acc mean, Acc squares, double(&total)[2]) {
        const double n = min(s.chunk, s.rows - chunk * s.chunk);
        const double d =
            static_cast<double>(mean) - static_cast<double>(__ldcg(partials.of(0) + channel));
        total[0] += n * d;
        total[1] += static_cast<double>(squares) + n * d * d;
      },
      [&](int channel, const double(&total)[2]) {
        const double off = total[0] * statistics.per_row;
        const double mean = static_cast<double>(__ldcg(partials.of(0) + channel)) + off;
        statistics.store(channel, mean, max(0.0, total[1] * statistics.per_row - off * off));
      });
}

/// A thread's channels of a tensor with one value for each.
template <int N, class Acc, class From>
__device__ void load_channels(const From* from, const StripThread& t, Acc (&to)[N]) {
  Pack<From, N> pack{};
  if (t.active) pack = Pack<From, N>::load(from + t.pack * N);
#pragma unroll
  for (int lane = 0; lane < N; ++lane) to[lane] = convert<Acc>(pack.lane[lane]);
}

template <class T>
struct Normalization {
  const T* x;
  const T* residual;  ///< or null
  T* y;
  const T* gamma;
  const T* beta;
  const Accumulator<T>* mean;
  const Accumulator<T>* spread;  ///< 1 / deviation, or the variance
  Accumulator<T> epsilon;
  bool evaluate;  ///< `spread` is the variance
  bool relu;
};

/// y = activation((x - mean) gamma / deviation + beta + residual).
template <int N, class T>
__global__ void __launch_bounds__(kBlock) normalize_kernel(Strips s, Normalization<T> n) {
  using Acc = Accumulator<T>;
  const StripThread t(s);
  Acc mean[N], scale[N], gamma[N], beta[N];
  load_channels(n.mean, t, mean);
  load_channels(n.spread, t, scale);
  load_channels(n.gamma, t, gamma);
  load_channels(n.beta, t, beta);
#pragma unroll
  for (int lane = 0; lane < N; ++lane) {
    if (n.evaluate) scale[lane] = Acc{1} / sqrt(scale[lane] + n.epsilon);
    scale[lane] *= gamma[lane];
  }
  t.for_rows([&](std::int64_t row) {
    const std::int64_t at = (row * s.packs + t.pack) * N;
    auto value = Pack<T, N>::load(n.x + at);
    Pack<T, N> added{};
    if (n.residual != nullptr) added = Pack<T, N>::load(n.residual + at);
#pragma unroll
    for (int lane = 0; lane < N; ++lane) {
      Acc y = (convert<Acc>(value.lane[lane]) - mean[lane]) * scale[lane] + beta[lane];
      if (n.residual != nullptr) y += convert<Acc>(added.lane[lane]);
      // NaN stays NaN: a diverged network should show.
      if (n.relu && y <= Acc{0}) y = Acc{0};
      value.lane[lane] = convert<T>(y);
    }
    value.store(n.y + at);
  });
}

/// Pointers of the backward pass. dx or dresidual may be dy.
template <class T>
struct Gradients {
  const T* x;
  const T* y;  ///< null without an activation
  const T* dy;
  const T* gamma;
  const Accumulator<T>* mean;
  const Accumulator<T>* inverse;
  T* dx;
  T* dresidual;  ///< may be null
  Accumulator<T>* dgamma;
  Accumulator<T>* dbeta;

  /// Before the activation.
  template <int N>
  __device__ Pack<T, N> gradient(std::int64_t at) const {
    auto gradient = Pack<T, N>::load(dy + at);
    if (y != nullptr) {
      const auto output = Pack<T, N>::load(y + at);
#pragma unroll
      for (int lane = 0; lane < N; ++lane) {
        if (convert<Accumulator<T>>(output.lane[lane]) <= 0) gradient.lane[lane] = convert<T>(0.0f);
      }
    }
    return gradient;
  }
};

/// dbeta = sums of the gradient before the activation, dgamma = those of it times the normalised x.
template <int N, class T>
__global__ void __launch_bounds__(kBlock)
    gradient_sums_kernel(Strips s, Gradients<T> g, Partials<Accumulator<T>> partials) {
  using Acc = Accumulator<T>;
  const StripThread t(s);
  Acc mean[N];
  load_channels(g.mean, t, mean);
  Acc sums[2 * N] = {};
  t.for_rows([&](std::int64_t row) {
    const std::int64_t at = (row * s.packs + t.pack) * N;
    const auto x = Pack<T, N>::load(g.x + at);
    const auto gradient = g.template gradient<N>(at);
#pragma unroll
    for (int lane = 0; lane < N; ++lane) {
      const Acc value = convert<Acc>(gradient.lane[lane]);
      sums[lane] += value;
      sums[N + lane] += value * (convert<Acc>(x.lane[lane]) - mean[lane]);
    }
  });
  sum_down(sums, s.across);
  partials.template store<N>(t, sums);
  if (!partials.complete()) return;
  combine<N>(
      s, partials,
      [](int, int, Acc first, Acc second, double(&total)[2]) {
        total[0] += static_cast<double>(first);
        total[1] += static_cast<double>(second);
      },
      [&](int channel, const double(&total)[2]) {
        g.dbeta[channel] = static_cast<Acc>(total[0]);
        g.dgamma[channel] = static_cast<Acc>(total[1] * static_cast<double>(g.inverse[channel]));
      });
}

/// dx = gamma inverse (g - mean of g - normal mean of g normal), where g is the gradient before the
/// activation (Ioffe and Szegedy, ICML 2015, section 3) and normal = (x - mean) inverse.
template <int N, class T>
__global__ void __launch_bounds__(kBlock) input_gradient_kernel(Strips s, Gradients<T> g) {
  using Acc = Accumulator<T>;
  const StripThread t(s);
  const Acc rows = static_cast<Acc>(s.rows);
  Acc mean[N], scale[N], constant[N], slope[N], along[N];
  load_channels(g.mean, t, mean);
  load_channels(g.inverse, t, slope);
  load_channels(g.gamma, t, scale);
  load_channels(g.dbeta, t, constant);
  load_channels(g.dgamma, t, along);
#pragma unroll
  for (int lane = 0; lane < N; ++lane) {
    scale[lane] *= slope[lane];
    constant[lane] *= scale[lane] / rows;
    slope[lane] *= scale[lane] * along[lane] / rows;
  }
  t.for_rows([&](std::int64_t row) {
    const std::int64_t at = (row * s.packs + t.pack) * N;
    const auto x = Pack<T, N>::load(g.x + at);
    const auto gradient = g.template gradient<N>(at);
    Pack<T, N> dx;
#pragma unroll
    for (int lane = 0; lane < N; ++lane) {
      dx.lane[lane] = convert<T>(convert<Acc>(gradient.lane[lane]) * scale[lane] - constant[lane] -
                                 (convert<Acc>(x.lane[lane]) - mean[lane]) * slope[lane]);
    }
    dx.store(g.dx + at);
    if (g.dresidual != nullptr) gradient.store(g.dresidual + at);
  });
}

// ---- Launches
// ------------------------------------------------------------------------------------

struct Extents {
  std::int64_t rows;
  std::int64_t channels;
};

Extents extents_of(const ConstTensor& x, const ConstTensor& per_channel) {
  const std::int64_t channels = x.shape[x.shape.rank() - 1];
  require(channels > 0 && per_channel.elements() == channels, "a norm has one value a channel");
  return {x.elements() / channels, channels};
}

template <class Acc>
Partials<Acc> partials_of(const Queue& queue, const Strips& s, const Extents& e) {
  require(
      s.grid.y <= Queue::kCounters &&
          s.grid.z * 2 * static_cast<std::size_t>(e.channels) * sizeof(Acc) <= queue.scratch_bytes,
      "partial sums fit in the scratch");
  return {static_cast<Acc*>(queue.scratch), queue.counters, static_cast<int>(e.channels)};
}

/// Normalises by the batch's statistics, or by the running ones.
template <class T>
void launch_normalize(const Queue& queue, const Extents& e, const Normalization<T>& n) {
  dispatch_vector<T>(
      whole_packs<T>(e.channels, n.x, n.residual, n.y, n.gamma, n.beta, n.mean, n.spread),
      [&](auto width) {
        constexpr int kWidth = decltype(width)::value;
        const Strips s = strips_over(queue, 1, e.rows, e.channels / kWidth, kForMaps);
        normalize_kernel<kWidth><<<s.grid, kBlock, 0, queue.stream>>>(s, n);
      });
  TRAINBENCH_LAUNCHED();
}

template <class T>
Normalization<T> normalization(const BatchNormOptions& options, const ConstTensor& x,
                               const NormWeights& weights, const ConstTensor& residual,
                               const Tensor& y) {
  using Acc = Accumulator<T>;
  return {.x = elements_of<T>(x),
          .residual = elements_of<T>(residual),
          .y = elements_of<T>(y),
          .gamma = elements_of<T>(weights.gamma),
          .beta = elements_of<T>(weights.beta),
          .mean = nullptr,
          .spread = nullptr,
          .epsilon = static_cast<Acc>(options.epsilon),
          .evaluate = false,
          .relu = options.activation == Activation::relu};
}

}  // namespace

void CudaBackend::batch_norm(const BatchNormOptions& options, ConstTensor x,
                             const NormWeights& weights, ConstTensor residual,
                             const BatchNormState& state, Tensor y) {
  const Queue& queue = own("batch_norm", x.dtype);
  const Extents e = extents_of(x, weights.gamma);
  dispatch_float(x.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    using Acc = Accumulator<T>;
    const auto rows = static_cast<double>(e.rows);
    const Statistics<Acc> statistics{elements_of<Acc>(state.mean),
                                     elements_of<Acc>(state.inverse),
                                     elements_of<Acc>(state.running_mean),
                                     elements_of<Acc>(state.running_variance),
                                     options.epsilon,
                                     options.momentum,
                                     1 / rows,
                                     rows / std::max(1.0, rows - 1)};
    dispatch_vector<T>(whole_packs<T>(e.channels, x.data), [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      const Strips s = strips_over(queue, 1, e.rows, e.channels / kWidth, kForSums);
      statistics_kernel<kWidth><<<s.grid, kBlock, 0, queue.stream>>>(
          s, elements_of<T>(x), partials_of<Acc>(queue, s, e), statistics);
    });
    TRAINBENCH_LAUNCHED();
    auto n = normalization<T>(options, x, weights, residual, y);
    n.mean = statistics.mean;
    n.spread = statistics.inverse;
    launch_normalize(queue, e, n);
  });
}

void CudaBackend::batch_norm_evaluate(const BatchNormOptions& options, ConstTensor x,
                                      const NormWeights& weights, ConstTensor residual,
                                      const BatchNormState& state, Tensor y) {
  const Queue& queue = own("batch_norm_evaluate", x.dtype);
  const Extents e = extents_of(x, weights.gamma);
  dispatch_float(x.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    using Acc = Accumulator<T>;
    auto n = normalization<T>(options, x, weights, residual, y);
    n.mean = elements_of<Acc>(state.running_mean);
    n.spread = elements_of<Acc>(state.running_variance);
    n.evaluate = true;
    launch_normalize(queue, e, n);
  });
}

void CudaBackend::batch_norm_backward(const BatchNormOptions& options, ConstTensor x, ConstTensor y,
                                      ConstTensor dy, ConstTensor gamma,
                                      const BatchNormState& state, Tensor dx, Tensor dresidual,
                                      const NormGradients& gradients) {
  const Queue& queue = own("batch_norm_backward", x.dtype);
  const Extents e = extents_of(x, gamma);
  dispatch_float(x.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    using Acc = Accumulator<T>;
    const Gradients<T> g{.x = elements_of<T>(x),
                         .y = options.activation == Activation::relu ? elements_of<T>(y) : nullptr,
                         .dy = elements_of<T>(dy),
                         .gamma = elements_of<T>(gamma),
                         .mean = elements_of<Acc>(state.mean),
                         .inverse = elements_of<Acc>(state.inverse),
                         .dx = elements_of<T>(dx),
                         .dresidual = elements_of<T>(dresidual),
                         .dgamma = elements_of<Acc>(gradients.gamma),
                         .dbeta = elements_of<Acc>(gradients.beta)};
    dispatch_vector<T>(
        whole_packs<T>(e.channels, g.x, g.y, g.dy, g.dx, g.dresidual, g.gamma, g.mean, g.inverse,
                       g.dgamma, g.dbeta),
        [&](auto width) {
          constexpr int kWidth = decltype(width)::value;
          const Strips sums = strips_over(queue, 1, e.rows, e.channels / kWidth, kForSums);
          gradient_sums_kernel<kWidth>
              <<<sums.grid, kBlock, 0, queue.stream>>>(sums, g, partials_of<Acc>(queue, sums, e));
          const Strips map = strips_over(queue, 1, e.rows, e.channels / kWidth, kForMaps);
          input_gradient_kernel<kWidth><<<map.grid, kBlock, 0, queue.stream>>>(map, g);
        });
  });
  TRAINBENCH_LAUNCHED();
}

}  // namespace trainbench::gpu
