#include <cmath>

#include "gpu/cuda_backend_impl.h"
#include "gpu/vector.cuh"

// Operations that draw random numbers: their words depend on seed, stream and index alone.

namespace trainbench::gpu {
namespace {

/// Elements that a thread takes at a time, of which each has a word: whole blocks of the generator
/// and whole accesses.
template <class T>
inline constexpr int kDrawn = std::max(4, kLanes<T>);

/// kWhole: all groups of N are whole and aligned.
template <bool kWhole, int N, class T>
__device__ Pack<T, N> load_some(const T* from, std::int64_t count) {
  if constexpr (kWhole) {
    return Pack<T, N>::load(from);
  } else {
    Pack<T, N> pack{};
#pragma unroll
    for (int lane = 0; lane < N; ++lane) {
      if (lane < count) pack.lane[lane] = from[lane];
    }
    return pack;
  }
}

template <bool kWhole, int N, class T>
__device__ void store_some(const Pack<T, N>& pack, T* to, std::int64_t count) {
  if constexpr (kWhole) {
    pack.store(to);
  } else {
#pragma unroll
    for (int lane = 0; lane < N; ++lane) {
      if (lane < count) to[lane] = pack.lane[lane];
    }
  }
}

/// f(first) for groups of N elements.
template <int N, class F>
__device__ void for_groups(std::int64_t count, F f) {
  for (std::int64_t first = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) * N;
       first < count; first += static_cast<std::int64_t>(gridDim.x) * blockDim.x * N) {
    f(first);
  }
}

/// Word i of a block by comparisons: a variable index would put the words into local memory.
__device__ std::uint32_t pick(const PhiloxWords& words, unsigned i) {
  const std::uint32_t even = i < 2 ? words.word[0] : words.word[2];
  const std::uint32_t odd = i < 2 ? words.word[1] : words.word[3];
  return i % 2 == 0 ? even : odd;
}

struct Dropout {
  std::uint32_t layer;
  std::uint64_t threshold;  ///< words below it fall
};

template <bool kWhole, class T>
__global__ void __launch_bounds__(kBlock)
    dropout_kernel(Dropout dropout, T* x, Accumulator<T> scale, std::int64_t count,
                   const StepState* state) {
  using Acc = Accumulator<T>;
  constexpr int N = kDrawn<T>;
  const Philox random = random_stream(RandomSource::dropout, dropout.layer, *state);
  for_groups<N>(count, [=](std::int64_t first) {
    auto value = load_some<kWhole, N>(x + first, count - first);
#pragma unroll
    for (int block = 0; block < N / 4; ++block) {
      const PhiloxWords words = random.block(static_cast<std::uint64_t>(first / 4 + block));
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        T& element = value.lane[4 * block + i];
        const bool falls = words.word[i] < dropout.threshold;
        element = convert<T>(falls ? Acc{0} : convert<Acc>(element) * scale);
      }
    }
    store_some<kWhole>(value, x + first, count - first);
  });
}

template <class T>
struct Diffusion {
  const std::uint8_t* bytes;
  float scale;
  float shift;
  const float* signal;
  const float* spread;
  const float* normal;
  std::uint64_t steps;
  std::int64_t image;  ///< elements of one
  std::int64_t count;  ///< of all
  T* noisy;
  T* noise;
  std::int32_t* times;
};

/// kWhole: besides, a group lies in one image.
template <bool kWhole, class T>
__global__ void __launch_bounds__(kBlock, 1)
    diffuse_kernel(Diffusion<T> d, const StepState* state) {
  using Acc = Accumulator<T>;
  constexpr int N = kDrawn<T>;
  const Philox random = random_stream(RandomSource::diffusion_noise, 0, *state);
  const Philox for_times = random_stream(RandomSource::diffusion_times, 0, *state);
  const auto time_of = [&](std::int64_t image) {
    const auto index = static_cast<std::uint64_t>(image);
    const std::uint64_t word = pick(for_times.block(index / 4), static_cast<unsigned>(index % 4));
    return static_cast<std::int32_t>(word * d.steps >> 32);
  };
  for_groups<N>(d.count, [&](std::int64_t first) {
    const std::int64_t count = d.count - first;
    const auto bytes = load_some<kWhole, N>(d.bytes + first, count);
    // A group is a block's eight half words, or one half of them.
    const PhiloxWords words = random.block(static_cast<std::uint64_t>(first / 8));
    const bool second = N == 4 && first % 8 != 0;
    std::int64_t image = first / d.image;
    std::int32_t time = time_of(image);
    Pack<T, N> noisy{}, noise{};
#pragma unroll
    for (int lane = 0; lane < N; ++lane) {
      if (lane >= count) break;
      const std::int64_t element = first + lane;
      if constexpr (!kWhole) {
        image = element / d.image;
        time = time_of(image);
      }
      if ((!kWhole || lane == 0) && element % d.image == 0) d.times[image] = time;
      const std::uint32_t word = pick(words, (second ? 2 : 0) + lane / 2);
      const Acc value = d.normal[word >> lane % 2 * 16 & 0xffffu];
      const Acc x = static_cast<Acc>(bytes.lane[lane]) * d.scale + d.shift;
      noise.lane[lane] = convert<T>(value);
      noisy.lane[lane] = convert<T>(d.signal[time] * x + d.spread[time] * value);
    }
    store_some<kWhole>(noise, d.noise + first, count);
    store_some<kWhole>(noisy, d.noisy + first, count);
  });
}

/// Calls `f` with a std::bool_constant.
template <class F>
void dispatch_whole(bool whole, F&& f) {
  if (whole) {
    f(std::true_type{});
  } else {
    f(std::false_type{});
  }
}

}  // namespace

void CudaBackend::dropout(const DropoutOptions& options, Tensor x, ConstTensor state) {
  const Queue& queue = own("dropout", x.dtype);
  require(options.rate >= 0 && options.rate < 1, "a rate of dropout is in [0, 1)");
  const Dropout dropout{options.layer,
                        static_cast<std::uint64_t>(std::ceil(options.rate * 0x1p32))};
  const std::int64_t count = x.elements();
  dispatch_float(x.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    const auto scale = static_cast<Accumulator<T>>(1 / (1 - options.rate));
    dispatch_whole(aligned(x.data) && count % kDrawn<T> == 0, [&](auto whole) {
      constexpr bool kIsWhole = decltype(whole)::value;
      dropout_kernel<kIsWhole, T><<<grid_size(queue, count / kDrawn<T>), kBlock, 0, queue.stream>>>(
          dropout, elements_of<T>(x), scale, count, elements_of<StepState>(state));
    });
  });
  TRAINBENCH_LAUNCHED();
}

void CudaBackend::diffuse(ConstTensor bytes, float scale, float shift,
                          const DiffusionTables& tables, ConstTensor state, Tensor noisy,
                          Tensor noise, Tensor times) {
  const Queue& queue = own("diffuse", noisy.dtype);
  const std::int64_t images = times.elements();
  const std::int64_t count = noisy.elements();
  require(
      images > 0 && bytes.elements() == count && noise.elements() == count && count % images == 0,
      "one time an image, one number of noise a byte");
  dispatch_float(noisy.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    const Diffusion<T> d{.bytes = elements_of<std::uint8_t>(bytes),
                         .scale = scale,
                         .shift = shift,
                         .signal = elements_of<float>(tables.signal),
                         .spread = elements_of<float>(tables.noise),
                         .normal = elements_of<float>(tables.normal),
                         .steps = static_cast<std::uint64_t>(tables.signal.elements()),
                         .image = count / images,
                         .count = count,
                         .noisy = elements_of<T>(noisy),
                         .noise = elements_of<T>(noise),
                         .times = elements_of<std::int32_t>(times)};
    dispatch_whole(aligned(d.bytes, d.noisy, d.noise) && d.image % kDrawn<T> == 0, [&](auto whole) {
      constexpr bool kIsWhole = decltype(whole)::value;
      diffuse_kernel<kIsWhole, T><<<grid_size(queue, count / kDrawn<T>), kBlock, 0, queue.stream>>>(
          d, elements_of<StepState>(state));
    });
  });
  TRAINBENCH_LAUNCHED();
}

}  // namespace trainbench::gpu
