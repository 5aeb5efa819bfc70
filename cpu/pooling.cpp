#include <limits>

#include "common/core/dispatch.h"
#include "cpu/convert.h"
#include "cpu/cpu_backend.h"
#include "cpu/parallel.h"

namespace trainbench {
namespace {

struct Extents {
  std::int64_t batch, height, width, channels, out_height, out_width;
};

Extents extents_of(const Window& window, const ConstTensor& image, const ConstTensor& output) {
  require(image.shape.rank() == 4 && output.shape.rank() == 4, "images are [b, h, w, c]");
  require(window.padding < window.kernel && window.kernel * window.kernel <= 256,
          "each window holds a pixel, and its place fits in a byte");
  const Extents e{image.shape[0],
                  image.shape[1],
                  image.shape[2],
                  image.shape[3],
                  window.outputs(image.shape[1]),
                  window.outputs(image.shape[2])};
  require(output.shape == Shape({e.batch, e.out_height, e.out_width, e.channels}),
          "a pool's output is [b, oh, ow, c]");
  return e;
}

/// Calls body(row, first channel, count) for each of `rows` rows in parallel, over at most kBlock
/// channels at a time.
template <class Body>
void for_each_row(int threads, std::int64_t rows, std::int64_t channels, const Body& body) {
  parallel_ranges(threads, rows, 1, [&](Range range) {
    for (std::int64_t row = range.first; row < range.last; ++row) {
      for (std::int64_t c = 0; c < channels; c += kBlock) {
        body(row, c, std::min(kBlock, channels - c));
      }
    }
  });
}

/// The largest of each channel over a window's pixels and its place; a NaN is larger than all.
template <class T>
class WindowMaximum {
 public:
  using W = Wide<T>;

  void clear(std::int64_t count) {
    std::fill_n(best_, count, -std::numeric_limits<W>::infinity());
    std::fill_n(place_, count, -1);
  }
  void take(const T* x, std::int32_t place, std::int64_t count) {
    const W* values = block_.read(x, count);
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) {
      const W value = values[i];
      const bool larger = (value > best_[i]) | (value != value) | (place_[i] < 0);
      best_[i] = larger ? value : best_[i];
      place_[i] = larger ? place : place_[i];
    }
  }
  void store(T* y, std::uint8_t* chosen, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = narrow<T>(best_[i]);
    if (chosen == nullptr) return;
    for (std::int64_t i = 0; i < count; ++i) chosen[i] = static_cast<std::uint8_t>(place_[i]);
  }

 private:
  Block<T> block_;
  alignas(64) W best_[kBlock];
  alignas(64) std::int32_t place_[kBlock];
};

template <class T>
void forward_row(const Window& window, const Extents& e, const T* x, std::int64_t row, T* y,
                 std::uint8_t* chosen, std::int64_t count) {
  WindowMaximum<T> maximum;
  const std::int64_t top = row % e.out_height * window.stride - window.padding;
  const T* image = x + row / e.out_height * e.height * e.width * e.channels;
  for (std::int64_t ow = 0; ow < e.out_width; ++ow) {
    const std::int64_t left = ow * window.stride - window.padding;
    maximum.clear(count);
    for (std::int64_t ky = 0; ky < window.kernel; ++ky) {
      if (top + ky < 0 || top + ky >= e.height) continue;
      for (std::int64_t kx = 0; kx < window.kernel; ++kx) {
        if (left + kx < 0 || left + kx >= e.width) continue;
        maximum.take(image + ((top + ky) * e.width + left + kx) * e.channels,
                     static_cast<std::int32_t>(ky * window.kernel + kx), count);
      }
    }
    const std::int64_t offset = (row * e.out_width + ow) * e.channels;
    maximum.store(y + offset, chosen == nullptr ? nullptr : chosen + offset, count);
  }
}

/// Outputs [first, last) whose windows hold pixel `at` of `extent`.
Range windows_of(const Window& window, std::int64_t at, std::int64_t outputs) {
  const std::int64_t below = at + window.padding - window.kernel;
  const std::int64_t first = below < 0 ? 0 : below / window.stride + 1;
  return {first, std::min(outputs, (at + window.padding) / window.stride + 1)};
}

template <class T>
void backward_row(const Window& window, const Extents& e, const std::uint8_t* chosen, const T* dy,
                  std::int64_t row, T* dx, std::int64_t count) {
  using W = Wide<T>;
  const std::int64_t h = row % e.height;
  const std::int64_t image = row / e.height * e.out_height * e.out_width * e.channels;
  const Range rows = windows_of(window, h, e.out_height);
  for (std::int64_t w = 0; w < e.width; ++w) {
    alignas(64) W sum[kBlock] = {};
    const Range columns = windows_of(window, w, e.out_width);
    for (std::int64_t oh = rows.first; oh < rows.last; ++oh) {
      for (std::int64_t ow = columns.first; ow < columns.last; ++ow) {
        const auto place =
            static_cast<std::uint8_t>((h + window.padding - oh * window.stride) * window.kernel +
                                      w + window.padding - ow * window.stride);
        const std::int64_t offset = image + (oh * e.out_width + ow) * e.channels;
        Block<T> block;
        const W* gradient = block.read(dy + offset, count);
        const std::uint8_t* places = chosen + offset;
#pragma omp simd
        for (std::int64_t i = 0; i < count; ++i) {
          sum[i] += places[i] == place ? gradient[i] : W{0};
        }
      }
    }
    T* to = dx + (row * e.width + w) * e.channels;
    for (std::int64_t i = 0; i < count; ++i) to[i] = narrow<T>(sum[i]);
  }
}

}  // namespace

void CpuBackend::max_pool(const Window& window, ConstTensor x, Tensor y, Tensor chosen) {
  const Extents e = extents_of(window, x, y);
  dispatch_float(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_row(threads_, e.batch * e.out_height, e.channels,
                 [&](std::int64_t row, std::int64_t c, std::int64_t count) {
                   std::uint8_t* places = chosen.absent() ? nullptr : chosen.as<std::uint8_t>() + c;
                   forward_row(window, e, x.as<T>() + c, row, y.as<T>() + c, places, count);
                 });
  });
}

void CpuBackend::max_pool_backward(const Window& window, ConstTensor chosen, ConstTensor dy,
                                   Tensor dx) {
  const Extents e = extents_of(window, dx, dy);
  dispatch_float(dx.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for_each_row(threads_, e.batch * e.height, e.channels,
                 [&](std::int64_t row, std::int64_t c, std::int64_t count) {
                   backward_row(window, e, chosen.as<std::uint8_t>() + c, dy.as<T>() + c, row,
                                dx.as<T>() + c, count);
                 });
  });
}

void CpuBackend::average_pool(ConstTensor x, Tensor y) {
  const std::int64_t channels = y.shape[1];
  require(x.shape.rank() == 4 && x.shape[0] == y.shape[0] && x.shape[3] == channels,
          "averages are [b, c]");
  const std::int64_t pixels = x.shape[1] * x.shape[2];
  dispatch_float(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    const T* from = x.as<T>();
    T* to = y.as<T>();
    for_each_row(threads_, y.shape[0], channels,
                 [=](std::int64_t image, std::int64_t c, std::int64_t count) {
                   alignas(64) W sum[kBlock] = {};
                   Block<T> block;
                   for (std::int64_t p = 0; p < pixels; ++p) {
                     const W* values =
                         block.read(from + (image * pixels + p) * channels + c, count);
#pragma omp simd
                     for (std::int64_t i = 0; i < count; ++i) sum[i] += values[i];
                   }
                   for (std::int64_t i = 0; i < count; ++i) {
                     to[image * channels + c + i] = narrow<T>(sum[i] / static_cast<W>(pixels));
                   }
                 });
  });
}

void CpuBackend::average_pool_backward(ConstTensor dy, Tensor dx) {
  const std::int64_t channels = dy.shape[1];
  require(dx.shape.rank() == 4 && dx.shape[0] == dy.shape[0] && dx.shape[3] == channels,
          "averages are [b, c]");
  const std::int64_t pixels = dx.shape[1] * dx.shape[2];
  dispatch_float(dx.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    const T* from = dy.as<T>();
    T* to = dx.as<T>();
    for_each_row(threads_, dy.shape[0], channels,
                 [=](std::int64_t image, std::int64_t c, std::int64_t count) {
                   alignas(64) T share[kBlock];
                   for (std::int64_t i = 0; i < count; ++i) {
                     share[i] =
                         narrow<T>(widen(from[image * channels + c + i]) / static_cast<W>(pixels));
                   }
                   for (std::int64_t p = 0; p < pixels; ++p) {
                     std::copy_n(share, count, to + (image * pixels + p) * channels + c);
                   }
                 });
  });
}

}  // namespace trainbench
