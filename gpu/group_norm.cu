#include "gpu/activations.cuh"
#include "gpu/cuda_backend_impl.h"
#include "gpu/strips.cuh"

// Each way one launch sums over an image's pixels for each channel, and one combines the channels
// of a group, in every block that needs them, and writes the result. What the second reads again is
// in the L2 cache where the first left it: an image of these models is small.

namespace trainbench::gpu {
namespace {

/// Extents of x[b, h, w, c]; a group has `width` channels.
struct Extents {
  std::int64_t images;
  std::int64_t pixels;
  int channels;
  int groups;
  int width;
};

Extents extents_of(const GroupNormOptions& options, const ConstTensor& x) {
  require(x.shape.rank() == 4, "a group norm works on images");
  const std::int64_t channels = x.shape[3];
  require(options.groups > 0 && channels % options.groups == 0, "groups have equal channels");
  require(options.activation == Activation::none || options.activation == Activation::silu,
          "a group norm applies SiLU or nothing");
  return {x.shape[0], x.shape[1] * x.shape[2], static_cast<int>(channels),
          static_cast<int>(options.groups), static_cast<int>(channels / options.groups)};
}

/// Two sums of each channel over each chunk of an image's pixels.
template <class Acc>
struct Partials {
  Acc* sums;   ///< [images, chunks, 2, channels], in scratch memory
  int chunks;  ///< of an image
  int channels;
  int width;

  __device__ Acc* of(int chunk) const {
    return sums + (static_cast<std::int64_t>(blockIdx.x) * chunks + chunk) * 2 * channels;
  }
  /// Stores the block's, which are in the threads of its first row.
  template <int N>
  __device__ void store(const StripThread& t, const Acc (&values)[2 * N]) const {
    if (!t.active || t.row > 0) return;
    Acc* const to = of(static_cast<int>(blockIdx.z)) + t.pack * N;
    store_lanes<N>(values, to);
    store_lanes<N>(values + N, to + channels);
  }
  /// A group's sums, in all lanes of the warp: those of each channel times factor(channel).
  template <class Factor>
  __device__ void combine(int group, Factor factor, double (&total)[2]) const {
    total[0] = total[1] = 0;
    for (int i = static_cast<int>(threadIdx.x) % 32; i < chunks * width; i += 32) {
      const int channel = group * width + i % width;
      const Acc* const from = of(i / width) + channel;
      const double scale = static_cast<double>(factor(channel));
      total[0] += scale * static_cast<double>(from[0]);
      total[1] += scale * static_cast<double>(from[channels]);
    }
    total[0] = reduce_warp(total[0], Add{});
    total[1] = reduce_warp(total[1], Add{});
  }
};

/// Two numbers of each group that a block's strip of channels touches.
template <int N, class Acc>
struct GroupValues {
  static constexpr int kMost = 32 * N + 1;
  Acc first[kMost];
  Acc second[kMost];

  /// f(group) by a warp each; the number of the strip's first group comes back.
  template <class F>
  static __device__ int for_groups(const Strips& s, int channels, int width, F f) {
    const int begin = static_cast<int>(blockIdx.y) * s.across * N / width;
    const int last = min((static_cast<int>(blockIdx.y) + 1) * s.across * N, channels) - 1;
    for (int group = begin + static_cast<int>(threadIdx.x) / 32; group <= last / width;
         group += kBlock / 32) {
      f(group, group - begin);
    }
    return begin;
  }
};

// ---- Forward
// -------------------------------------------------------------------------------------

template <class T>
struct Forward {
  const T* x;
  const T* gamma;
  const T* beta;
  Accumulator<T>* mean;
  Accumulator<T>* inverse;
  T* y;
  double epsilon;
  double per_element;  ///< 1 / a group's elements in an image
  int groups;

  /// What a group's numbers are summed about: one of them, so that n of them lose at the most a
  /// factor n + 1 of the precision, and mostly a bit.
  __device__ Accumulator<T> shift(const Strips& s, int channels, int channel) const {
    return convert<Accumulator<T>>(
        x[static_cast<std::int64_t>(blockIdx.x) * s.rows * channels + channel]);
  }
};

template <int N, class T>
__global__ void __launch_bounds__(kBlock)
    deviation_sums_kernel(Strips s, Forward<T> f, Partials<Accumulator<T>> partials) {
  using Acc = Accumulator<T>;
  const StripThread t(s);
  Acc shift[N] = {};
  if (t.active) {
#pragma unroll
    for (int lane = 0; lane < N; ++lane) {
      const int channel = t.pack * N + lane;
      shift[lane] = f.shift(s, partials.channels, channel - channel % partials.width);
    }
  }
  Acc sums[2 * N] = {};
  t.for_rows([&](std::int64_t row) {
    const auto value = Pack<T, N>::load(f.x + (row * s.packs + t.pack) * N);
#pragma unroll
    for (int lane = 0; lane < N; ++lane) {
      const Acc d = convert<Acc>(value.lane[lane]) - shift[lane];
      sums[lane] += d;
      sums[N + lane] += d * d;
    }
  });
  sum_down(sums, s.across);
  partials.template store<N>(t, sums);
}

template <bool kSilu, int N, class T>
__global__ void __launch_bounds__(kBlock, 1)
    normalize_kernel(Strips s, Forward<T> f, Partials<Accumulator<T>> partials) {
  using Acc = Accumulator<T>;
  __shared__ GroupValues<N, Acc> values;
  const int channels = partials.channels;
  const int width = partials.width;
  const int begin = values.for_groups(s, channels, width, [&](int group, int local) {
    double sums[2];
    partials.combine(
        group, [](int) { return 1; }, sums);
    if (threadIdx.x % 32 != 0) return;
    const double off = sums[0] * f.per_element;
    const double variance = max(0.0, sums[1] * f.per_element - off * off);
    const Acc mean =
        static_cast<Acc>(static_cast<double>(f.shift(s, channels, group * width)) + off);
    const Acc inverse = static_cast<Acc>(rsqrt(variance + f.epsilon));
    values.first[local] = mean;
    values.second[local] = inverse;
    // One block writes them: that of the group's first channel.
    if (blockIdx.z == 0 && group * width / (s.across * N) == static_cast<int>(blockIdx.y)) {
      const std::int64_t at = static_cast<std::int64_t>(blockIdx.x) * f.groups + group;
      f.mean[at] = mean;
      f.inverse[at] = inverse;
    }
  });
  __syncthreads();

  const StripThread t(s);
  if (!t.active) return;
  Acc mean[N], scale[N], beta[N];
  const auto gammas = Pack<T, N>::load(f.gamma + t.pack * N);
  const auto betas = Pack<T, N>::load(f.beta + t.pack * N);
#pragma unroll
  for (int lane = 0; lane < N; ++lane) {
    const int channel = t.pack * N + lane;
    const int local = channel / width - begin;
    mean[lane] = values.first[local];
    scale[lane] = values.second[local] * convert<Acc>(gammas.lane[lane]);
    beta[lane] = convert<Acc>(betas.lane[lane]);
  }
  t.for_rows([&](std::int64_t row) {
    const std::int64_t at = (row * s.packs + t.pack) * N;
    auto value = Pack<T, N>::load(f.x + at);
#pragma unroll
    for (int lane = 0; lane < N; ++lane) {
      const Acc z = (convert<Acc>(value.lane[lane]) - mean[lane]) * scale[lane] + beta[lane];
      value.lane[lane] = convert<T>(kSilu ? activated<Activation::silu>(z) : z);
    }
    value.store(f.y + at);
  });
}

// ---- Backward
// ------------------------------------------------------------------------------------

/// Pointers of the backward pass. dx may be dy.
template <class T>
struct Backward {
  const T* x;
  const T* dy;
  const T* gamma;
  const T* beta;
  const Accumulator<T>* mean;
  const Accumulator<T>* inverse;
  T* dx;
  double per_element;
  int groups;
  bool accumulate;
};

/// A thread's channels of one image: from x and dy to the normalised x and dz, the gradient before
/// the activation.
template <bool kSilu, int N, class T>
struct Channels {
  using Acc = Accumulator<T>;
  Acc mean[N], inverse[N], gamma[N], beta[N];

  __device__ Channels(const Backward<T>& b, const StripThread& t, int width) {
    const int first = t.active ? t.pack * N : 0;
    const auto gammas = Pack<T, N>::load(b.gamma + first);
    const auto betas = Pack<T, N>::load(b.beta + first);
#pragma unroll
    for (int lane = 0; lane < N; ++lane) {
      const int channel = first + lane;
      const std::int64_t group = static_cast<std::int64_t>(blockIdx.x) * b.groups + channel / width;
      mean[lane] = b.mean[group];
      inverse[lane] = b.inverse[group];
      gamma[lane] = convert<Acc>(gammas.lane[lane]);
      beta[lane] = convert<Acc>(betas.lane[lane]);
    }
  }
  __device__ Acc normal(int lane, T x) const {
    return (convert<Acc>(x) - mean[lane]) * inverse[lane];
  }
  __device__ Acc gradient(int lane, Acc normal, T dy) const {
    const Acc slope = convert<Acc>(dy);
    if constexpr (!kSilu) return slope;
    return slope * derivative<Activation::silu>(normal * gamma[lane] + beta[lane]);
  }
};

/// Sums of dz and of dz times the normalised x.
template <bool kSilu, int N, class T>
__global__ void __launch_bounds__(kBlock)
    gradient_sums_kernel(Strips s, Backward<T> b, Partials<Accumulator<T>> partials) {
  using Acc = Accumulator<T>;
  const StripThread t(s);
  const Channels<kSilu, N, T> channels(b, t, partials.width);
  Acc sums[2 * N] = {};
  t.for_rows<kSilu ? 1 : 4>([&](std::int64_t row) {
    const std::int64_t at = (row * s.packs + t.pack) * N;
    const auto x = Pack<T, N>::load(b.x + at);
    const auto dy = Pack<T, N>::load(b.dy + at);
#pragma unroll
    for (int lane = 0; lane < N; ++lane) {
      const Acc normal = channels.normal(lane, x.lane[lane]);
      const Acc gradient = channels.gradient(lane, normal, dy.lane[lane]);
      sums[lane] += gradient;
      sums[N + lane] += gradient * normal;
    }
  });
  sum_down(sums, s.across);
  partials.template store<N>(t, sums);
}

/// dx = inverse (gamma dz - mean of gamma dz - normal mean of gamma dz normal), the means over the
/// group.
template <bool kSilu, int N, class T>
__global__ void __launch_bounds__(kBlock)
    input_gradient_kernel(Strips s, Backward<T> b, Partials<Accumulator<T>> partials) {
  using Acc = Accumulator<T>;
  __shared__ GroupValues<N, Acc> values;
  const int width = partials.width;
  const int begin = values.for_groups(s, partials.channels, width, [&](int group, int local) {
    double sums[2];
    partials.combine(
        group, [&](int channel) { return convert<Acc>(b.gamma[channel]); }, sums);
    if (threadIdx.x % 32 != 0) return;
    values.first[local] = static_cast<Acc>(sums[0] * b.per_element);
    values.second[local] = static_cast<Acc>(sums[1] * b.per_element);
  });
  __syncthreads();

  const StripThread t(s);
  if (!t.active) return;
  const Channels<kSilu, N, T> channels(b, t, width);
  Acc level[N], along[N];
#pragma unroll
  for (int lane = 0; lane < N; ++lane) {
    const int local = (t.pack * N + lane) / width - begin;
    level[lane] = values.first[local];
    along[lane] = values.second[local];
  }
  t.for_rows<1>([&](std::int64_t row) {
    const std::int64_t at = (row * s.packs + t.pack) * N;
    const auto x = Pack<T, N>::load(b.x + at);
    const auto dy = Pack<T, N>::load(b.dy + at);
    Pack<T, N> dx{};
    if (b.accumulate) dx = Pack<T, N>::load(b.dx + at);
#pragma unroll
    for (int lane = 0; lane < N; ++lane) {
      const Acc normal = channels.normal(lane, x.lane[lane]);
      const Acc scaled = channels.gamma[lane] * channels.gradient(lane, normal, dy.lane[lane]);
      const Acc through = channels.inverse[lane] * (scaled - level[lane] - normal * along[lane]);
      dx.lane[lane] = convert<T>(b.accumulate ? convert<Acc>(dx.lane[lane]) + through : through);
    }
    dx.store(b.dx + at);
  });
}

// ---- Launches
// ------------------------------------------------------------------------------------

/// What both ways launch: a kernel of sums and one that maps pixels.
template <class Acc>
struct Passes {
  Strips sums;
  Strips map;
  Partials<Acc> partials;
};

template <class Acc>
Passes<Acc> passes_of(const Queue& queue, const Extents& e, int width) {
  const auto over = [&](const BlockWork& work) {
    return strips_over(queue, e.images, e.pixels, e.channels / width, work);
  };
  const Strips sums = over(kForSums);
  const auto parts = static_cast<std::size_t>(e.images) * sums.grid.z;
  require(parts * 2 * static_cast<std::size_t>(e.channels) * sizeof(Acc) <= queue.scratch_bytes,
          "partial sums fit in the scratch");
  return {sums,
          over(kForMaps),
          {static_cast<Acc*>(queue.scratch), static_cast<int>(sums.grid.z), e.channels, e.width}};
}

/// Calls `f` with whether there is an activation, as a type.
template <class F>
void dispatch_silu(const GroupNormOptions& options, F&& f) {
  if (options.activation == Activation::silu) {
    f(std::true_type{});
  } else {
    f(std::false_type{});
  }
}

double per_element(const Extents& e) {
  return 1 / (static_cast<double>(e.pixels) * static_cast<double>(e.width));
}

}  // namespace

void CudaBackend::group_norm(const GroupNormOptions& options, ConstTensor x,
                             const NormWeights& weights, Tensor mean, Tensor inverse, Tensor y) {
  const Queue& queue = own("group_norm", x.dtype);
  const Extents e = extents_of(options, x);
  require(mean.elements() == e.images * e.groups && inverse.elements() == mean.elements(),
          "a group norm has statistics for each group of an image");
  dispatch_float(x.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    using Acc = Accumulator<T>;
    const Forward<T> f{.x = elements_of<T>(x),
                       .gamma = elements_of<T>(weights.gamma),
                       .beta = elements_of<T>(weights.beta),
                       .mean = elements_of<Acc>(mean),
                       .inverse = elements_of<Acc>(inverse),
                       .y = elements_of<T>(y),
                       .epsilon = options.epsilon,
                       .per_element = per_element(e),
                       .groups = e.groups};
    dispatch_vector<T>(whole_packs<T>(e.channels, f.x, f.y, f.gamma, f.beta), [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      const Passes<Acc> p = passes_of<Acc>(queue, e, kWidth);
      deviation_sums_kernel<kWidth>
          <<<p.sums.grid, kBlock, 0, queue.stream>>>(p.sums, f, p.partials);
      dispatch_silu(options, [&](auto silu) {
        constexpr bool kSilu = decltype(silu)::value;
        normalize_kernel<kSilu, kWidth>
            <<<p.map.grid, kBlock, 0, queue.stream>>>(p.map, f, p.partials);
      });
    });
  });
  TRAINBENCH_LAUNCHED();
}

void CudaBackend::group_norm_backward(const GroupNormOptions& options, ConstTensor x,
                                      ConstTensor dy, const NormWeights& weights, ConstTensor mean,
                                      ConstTensor inverse, bool accumulate, Tensor dx,
                                      const NormGradients& gradients) {
  const Queue& queue = own("group_norm_backward", x.dtype);
  const Extents e = extents_of(options, x);
  dispatch_float(x.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    using Acc = Accumulator<T>;
    const Backward<T> b{.x = elements_of<T>(x),
                        .dy = elements_of<T>(dy),
                        .gamma = elements_of<T>(weights.gamma),
                        .beta = elements_of<T>(weights.beta),
                        .mean = elements_of<Acc>(mean),
                        .inverse = elements_of<Acc>(inverse),
                        .dx = elements_of<T>(dx),
                        .per_element = per_element(e),
                        .groups = e.groups,
                        .accumulate = accumulate};
    std::int64_t parts = 0;
    dispatch_vector<T>(whole_packs<T>(e.channels, b.x, b.dy, b.dx, b.gamma, b.beta),
                       [&](auto width) {
                         constexpr int kWidth = decltype(width)::value;
                         const Passes<Acc> p = passes_of<Acc>(queue, e, kWidth);
                         parts = e.images * p.partials.chunks;
                         dispatch_silu(options, [&](auto silu) {
                           constexpr bool kSilu = decltype(silu)::value;
                           gradient_sums_kernel<kSilu, kWidth>
                               <<<p.sums.grid, kBlock, 0, queue.stream>>>(p.sums, b, p.partials);
                           input_gradient_kernel<kSilu, kWidth>
                               <<<p.map.grid, kBlock, 0, queue.stream>>>(p.map, b, p.partials);
                         });
                       });
    TRAINBENCH_LAUNCHED();
    sum_pairs(queue, ConstTensor(queue.scratch, Shape{parts, 2, e.channels}, gradients.gamma.dtype),
              gradients.beta, gradients.gamma);
  });
}

}  // namespace trainbench::gpu
