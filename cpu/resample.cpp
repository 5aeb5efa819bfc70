// Operations that move whole pixels or rows: nearest upsampling, concatenation of channels.

#include <cstring>

#include "common/core/dispatch.h"
#include "cpu/convert.h"
#include "cpu/cpu_backend.h"
#include "cpu/parallel.h"

namespace trainbench {
namespace {

std::size_t bytes_of_row(const ConstTensor& x) {
  return static_cast<std::size_t>(x.shape[x.shape.rank() - 1]) * size_of(x.dtype);
}

/// Rows of so many bytes that are worth a thread's wake-up.
std::int64_t grain_of(std::size_t row_bytes) {
  return std::max<std::int64_t>(1, 4 * kGrain / static_cast<std::int64_t>(row_bytes + 1));
}

void require_double(const ConstTensor& small, const ConstTensor& large) {
  require(small.shape.rank() == 4 && large.shape == Shape({small.shape[0], 2 * small.shape[1],
                                                           2 * small.shape[2], small.shape[3]}),
          "upsampling doubles height and width");
  require(small.dtype == large.dtype, "upsampling keeps the dtype");
}

/// to[count] = the sums of four pixels: two neighbours at `upper` and the two below.
template <class T>
void add_four(const T* upper, const T* lower, std::int64_t channels, T* to) {
  Elements<T> blocks[4];
  Elements<T> out;
  for (std::int64_t c = 0; c < channels; c += kBlock) {
    const std::int64_t count = std::min(kBlock, channels - c);
    const auto a = blocks[0].read(upper + c, count);
    const auto b = blocks[1].read(upper + channels + c, count);
    const auto d = blocks[2].read(lower + c, count);
    const auto e = blocks[3].read(lower + channels + c, count);
    const auto sum = out.target(to + c);
#pragma omp simd
    for (std::int64_t i = 0; i < count; ++i) sum[i] = (a[i] + b[i]) + (d[i] + e[i]);
    out.store(to + c, count);
  }
}

/// Calls kernel(rows of y, of a, of b, bytes of a's and b's) on ranges of the rows.
template <class Y, class X, class Kernel>
void with_joined_rows(int threads, Y y, X a, X b, const Kernel& kernel) {
  const std::size_t left = bytes_of_row(a);
  const std::size_t right = bytes_of_row(b);
  require(bytes_of_row(y) == left + right && a.dtype == y.dtype && b.dtype == y.dtype,
          "a row of a concatenation is one of each part");
  const std::int64_t rows = y.elements() / std::max<std::int64_t>(1, y.shape[y.shape.rank() - 1]);
  require(y.bytes() == a.bytes() + b.bytes(), "the parts of a concatenation have equal rows");
  parallel_ranges(threads, rows, grain_of(left + right), [=](Range range) {
    for (std::int64_t row = range.first; row < range.last; ++row) {
      kernel(static_cast<std::size_t>(row), left, right);
    }
  });
}

}  // namespace

void CpuBackend::upsample(ConstTensor x, Tensor y) {
  require_double(x, y);
  const std::size_t pixel = bytes_of_row(x);
  const auto width = static_cast<std::size_t>(x.shape[2]);
  const auto* from = static_cast<const std::byte*>(x.data);
  auto* to = static_cast<std::byte*>(y.data);
  parallel_ranges(threads_, x.shape[0] * x.shape[1], grain_of(pixel * width), [=](Range rows) {
    for (auto row = static_cast<std::size_t>(rows.first); row < static_cast<std::size_t>(rows.last);
         ++row) {
      std::byte* const upper = to + row * 4 * width * pixel;
      for (std::size_t i = 0; i < width; ++i) {
        const std::byte* source = from + (row * width + i) * pixel;
        std::memcpy(upper + 2 * i * pixel, source, pixel);
        std::memcpy(upper + (2 * i + 1) * pixel, source, pixel);
      }
      std::memcpy(upper + 2 * width * pixel, upper, 2 * width * pixel);
    }
  });
}

void CpuBackend::upsample_backward(ConstTensor dy, Tensor dx) {
  require_double(dx, dy);
  const std::int64_t width = dx.shape[2];
  const std::int64_t channels = dx.shape[3];
  dispatch_float(dx.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* from = dy.as<T>();
    T* to = dx.as<T>();
    const std::int64_t grain = grain_of(bytes_of_row(dx) * static_cast<std::size_t>(width));
    parallel_ranges(threads_, dx.shape[0] * dx.shape[1], grain, [=](Range rows) {
      for (std::int64_t row = rows.first; row < rows.last; ++row) {
        const T* upper = from + row * 4 * width * channels;
        for (std::int64_t i = 0; i < width; ++i) {
          const T* pixels = upper + 2 * i * channels;
          add_four(pixels, pixels + 2 * width * channels, channels,
                   to + (row * width + i) * channels);
        }
      }
    });
  });
}

void CpuBackend::concat(ConstTensor a, ConstTensor b, Tensor y) {
  const auto* first = static_cast<const std::byte*>(a.data);
  const auto* second = static_cast<const std::byte*>(b.data);
  auto* to = static_cast<std::byte*>(y.data);
  with_joined_rows(threads_, ConstTensor(y), a, b,
                   [=](std::size_t row, std::size_t left, std::size_t right) {
                     std::memcpy(to + row * (left + right), first + row * left, left);
                     std::memcpy(to + row * (left + right) + left, second + row * right, right);
                   });
}

void CpuBackend::split(ConstTensor y, Tensor a, Tensor b) {
  const auto* from = static_cast<const std::byte*>(y.data);
  auto* first = static_cast<std::byte*>(a.data);
  auto* second = static_cast<std::byte*>(b.data);
  with_joined_rows(threads_, y, ConstTensor(a), ConstTensor(b),
                   [=](std::size_t row, std::size_t left, std::size_t right) {
                     std::memcpy(first + row * left, from + row * (left + right), left);
                     std::memcpy(second + row * right, from + row * (left + right) + left, right);
                   });
}

}  // namespace trainbench
