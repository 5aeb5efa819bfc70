#include <cmath>

#include "gpu/cuda_backend_impl.h"
#include "gpu/strips.cuh"

namespace trainbench::gpu {
namespace {

struct Extents {
  int batch, height, width, channels, out_height, out_width;
  int kernel, stride, padding;
};

Extents extents_of(const Window& window, const ConstTensor& image, const ConstTensor& output) {
  require(image.shape.rank() == 4 && output.shape.rank() == 4, "images are [b, h, w, c]");
  require(window.padding < window.kernel && window.kernel * window.kernel <= 256,
          "each window holds a pixel, and its place fits in a byte");
  const Shape& in = image.shape;
  const std::int64_t out_height = window.outputs(in[1]);
  const std::int64_t out_width = window.outputs(in[2]);
  require(output.shape == Shape({in[0], out_height, out_width, in[3]}),
          "a pool's output is [b, oh, ow, c]");
  const auto narrow = [](std::int64_t extent) { return static_cast<int>(extent); };
  return {narrow(in[0]),         narrow(in[1]),         narrow(in[2]),
          narrow(in[3]),         narrow(out_height),    narrow(out_width),
          narrow(window.kernel), narrow(window.stride), narrow(window.padding)};
}

/// Image, row and column of a pixel's number.
struct Place {
  int image, y, x;

  __device__ Place(std::int64_t pixel, int height, int width) {
    const auto number = static_cast<unsigned>(pixel);
    const unsigned row = number / static_cast<unsigned>(width);
    x = static_cast<int>(number - row * static_cast<unsigned>(width));
    image = static_cast<int>(row / static_cast<unsigned>(height));
    y = static_cast<int>(row) - image * height;
  }
};

/// Rows are pixels of y. A NaN is larger than all.
template <int N, class T>
__global__ void __launch_bounds__(kBlock, 1)
    max_pool_kernel(Strips s, Extents e, const T* x, T* y, std::uint8_t* chosen) {
  using Acc = Accumulator<T>;
  const StripThread t(s);
  t.for_rows<1>([&](std::int64_t row) {
    const Place place(row, e.out_height, e.out_width);
    const int top = place.y * e.stride - e.padding;
    const int left = place.x * e.stride - e.padding;
    Pack<T, N> best;
    int found[N];
#pragma unroll
    for (int lane = 0; lane < N; ++lane) {
      best.lane[lane] = convert<T>(-INFINITY);
      found[lane] = -1;
    }
    for (int ky = max(0, -top); ky < min(e.kernel, e.height - top); ++ky) {
      for (int kx = max(0, -left); kx < min(e.kernel, e.width - left); ++kx) {
        const std::int64_t pixel =
            (static_cast<std::int64_t>(place.image) * e.height + top + ky) * e.width + left + kx;
        const auto value = Pack<T, N>::load(x + (pixel * s.packs + t.pack) * N);
#pragma unroll
        for (int lane = 0; lane < N; ++lane) {
          const Acc candidate = convert<Acc>(value.lane[lane]);
          if (candidate > convert<Acc>(best.lane[lane]) || isnan(candidate) || found[lane] < 0) {
            best.lane[lane] = value.lane[lane];
            found[lane] = ky * e.kernel + kx;
          }
        }
      }
    }
    best.store(y + (row * s.packs + t.pack) * N);
    if (chosen == nullptr) return;
    Pack<std::uint8_t, N> places;
#pragma unroll
    for (int lane = 0; lane < N; ++lane) {
      places.lane[lane] = static_cast<std::uint8_t>(found[lane]);
    }
    places.store(chosen + (row * s.packs + t.pack) * N);
  });
}

/// Rows are pixels of dx, which gather from the windows that hold them.
template <int N, class T>
__global__ void __launch_bounds__(kBlock, 1)
    max_pool_backward_kernel(Strips s, Extents e, const std::uint8_t* chosen, const T* dy, T* dx) {
  using Acc = Accumulator<T>;
  const StripThread t(s);
  const auto first_window = [&](int at) {
    const int below = at + e.padding - e.kernel;
    return below < 0 ? 0 : below / e.stride + 1;
  };
  t.for_rows<1>([&](std::int64_t row) {
    const Place place(row, e.height, e.width);
    const int last_y = min(e.out_height - 1, (place.y + e.padding) / e.stride);
    const int last_x = min(e.out_width - 1, (place.x + e.padding) / e.stride);
    Acc sum[N] = {};
    for (int oy = first_window(place.y); oy <= last_y; ++oy) {
      for (int ox = first_window(place.x); ox <= last_x; ++ox) {
        const int own =
            (place.y + e.padding - oy * e.stride) * e.kernel + place.x + e.padding - ox * e.stride;
        const std::int64_t pixel =
            (static_cast<std::int64_t>(place.image) * e.out_height + oy) * e.out_width + ox;
        const std::int64_t at = (pixel * s.packs + t.pack) * N;
        const auto places = Pack<std::uint8_t, N>::load(chosen + at);
        const auto gradient = Pack<T, N>::load(dy + at);
#pragma unroll
        for (int lane = 0; lane < N; ++lane) {
          if (places.lane[lane] == own) sum[lane] += convert<Acc>(gradient.lane[lane]);
        }
      }
    }
    Pack<T, N> result;
#pragma unroll
    for (int lane = 0; lane < N; ++lane) result.lane[lane] = convert<T>(sum[lane]);
    result.store(dx + (row * s.packs + t.pack) * N);
  });
}

/// A block sums an image's strip of channels.
template <int N, class T>
__global__ void __launch_bounds__(kBlock) average_pool_kernel(Strips s, const T* x, T* y) {
  using Acc = Accumulator<T>;
  const StripThread t(s);
  Acc sum[N] = {};
  t.for_rows([&](std::int64_t row) {
    const auto value = Pack<T, N>::load(x + (row * s.packs + t.pack) * N);
#pragma unroll
    for (int lane = 0; lane < N; ++lane) sum[lane] += convert<Acc>(value.lane[lane]);
  });
  sum_down(sum, s.across);
  if (!t.active || t.row > 0) return;
  Pack<T, N> mean;
#pragma unroll
  for (int lane = 0; lane < N; ++lane) {
    mean.lane[lane] = convert<T>(sum[lane] / static_cast<Acc>(s.rows));
  }
  mean.store(y + (static_cast<std::int64_t>(blockIdx.x) * s.packs + t.pack) * N);
}

template <int N, class T>
__global__ void __launch_bounds__(kBlock)
    average_pool_backward_kernel(Strips s, const T* dy, T* dx) {
  using Acc = Accumulator<T>;
  const StripThread t(s);
  if (!t.active) return;
  auto share =
      Pack<T, N>::load(dy + (static_cast<std::int64_t>(blockIdx.x) * s.packs + t.pack) * N);
#pragma unroll
  for (int lane = 0; lane < N; ++lane) {
    share.lane[lane] = convert<T>(convert<Acc>(share.lane[lane]) / static_cast<Acc>(s.rows));
  }
  t.for_rows([&](std::int64_t row) { share.store(dx + (row * s.packs + t.pack) * N); });
}

void require_averages(const ConstTensor& image, const ConstTensor& averages) {
  require(image.shape.rank() == 4 && averages.shape == Shape({image.shape[0], image.shape[3]}),
          "averages are [b, c]");
}

}  // namespace

void CudaBackend::max_pool(const Window& window, ConstTensor x, Tensor y, Tensor chosen) {
  const Queue& queue = own("max_pool", x.dtype);
  const Extents e = extents_of(window, x, y);
  dispatch_float(x.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    dispatch_vector<T>(whole_packs<T>(e.channels, x.data, y.data, chosen.data), [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      const Strips s =
          strips_over(queue, 1, y.elements() / e.channels, e.channels / kWidth, kForMaps);
      max_pool_kernel<kWidth><<<s.grid, kBlock, 0, queue.stream>>>(
          s, e, elements_of<T>(x), elements_of<T>(y), elements_of<std::uint8_t>(chosen));
    });
  });
  TRAINBENCH_LAUNCHED();
}

void CudaBackend::max_pool_backward(const Window& window, ConstTensor chosen, ConstTensor dy,
                                    Tensor dx) {
  const Queue& queue = own("max_pool_backward", dy.dtype);
  const Extents e = extents_of(window, dx, dy);
  dispatch_float(dx.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    dispatch_vector<T>(whole_packs<T>(e.channels, chosen.data, dy.data, dx.data), [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      const Strips s =
          strips_over(queue, 1, dx.elements() / e.channels, e.channels / kWidth, kForMaps);
      max_pool_backward_kernel<kWidth><<<s.grid, kBlock, 0, queue.stream>>>(
          s, e, elements_of<std::uint8_t>(chosen), elements_of<T>(dy), elements_of<T>(dx));
    });
  });
  TRAINBENCH_LAUNCHED();
}

void CudaBackend::average_pool(ConstTensor x, Tensor y) {
  const Queue& queue = own("average_pool", x.dtype);
  require_averages(x, y);
  const std::int64_t channels = x.shape[3];
  dispatch_float(x.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    dispatch_vector<T>(whole_packs<T>(channels, x.data, y.data), [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      const Strips s =
          strips_over(queue, x.shape[0], x.shape[1] * x.shape[2], channels / kWidth, kWhole);
      average_pool_kernel<kWidth>
          <<<s.grid, kBlock, 0, queue.stream>>>(s, elements_of<T>(x), elements_of<T>(y));
    });
  });
  TRAINBENCH_LAUNCHED();
}

void CudaBackend::average_pool_backward(ConstTensor dy, Tensor dx) {
  const Queue& queue = own("average_pool_backward", dy.dtype);
  require_averages(dx, dy);
  const std::int64_t channels = dx.shape[3];
  dispatch_float(dx.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    dispatch_vector<T>(whole_packs<T>(channels, dy.data, dx.data), [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      const Strips s =
          strips_over(queue, dx.shape[0], dx.shape[1] * dx.shape[2], channels / kWidth, kForMaps);
      average_pool_backward_kernel<kWidth>
          <<<s.grid, kBlock, 0, queue.stream>>>(s, elements_of<T>(dy), elements_of<T>(dx));
    });
  });
  TRAINBENCH_LAUNCHED();
}

}  // namespace trainbench::gpu
