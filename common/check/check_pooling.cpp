#include <cmath>
#include <limits>

#include "common/check/check_backend.h"
#include "common/check/expected.h"
#include "common/check/reference.h"

namespace trainbench {
namespace {

/// Where an element of [b, h, w, c] lies.
struct Place {
  std::int64_t b, h, w, c;

  Place(std::int64_t index, const Shape& shape)
      : b(index / shape[3] / shape[2] / shape[1]),
        h(index / shape[3] / shape[2] % shape[1]),
        w(index / shape[3] % shape[2]),
        c(index % shape[3]) {}
};

std::int64_t index_of(const Shape& shape, std::int64_t b, std::int64_t h, std::int64_t w,
                      std::int64_t c) {
  return ((b * shape[1] + h) * shape[2] + w) * shape[3] + c;
}

struct Largest {
  double value = -std::numeric_limits<double>::infinity();
  std::int64_t place = -1;
};

/// The first of a window's largest elements; a NaN is larger than all.
Largest largest_of(const Window& window, const HostTensor& x, const Place& at) {
  Largest largest;
  for (std::int64_t k = 0; k < window.kernel * window.kernel; ++k) {
    const std::int64_t h = at.h * window.stride - window.padding + k / window.kernel;
    const std::int64_t w = at.w * window.stride - window.padding + k % window.kernel;
    if (h < 0 || h >= x.shape()[1] || w < 0 || w >= x.shape()[2]) continue;
    const double value = x[index_of(x.shape(), at.b, h, w, at.c)];
    if (std::isnan(largest.value)) break;
    if (largest.place < 0 || value > largest.value || std::isnan(value)) largest = {value, k};
  }
  return largest;
}

}  // namespace

void CheckBackend::max_pool(const Window& window, ConstTensor x, Tensor y, Tensor chosen) {
  const Held image = hold(x);
  inner_.max_pool(window, x, y, chosen);
  const std::string operation = named("max_pool", x.dtype);
  compare(operation, "y", y, [&](std::int64_t i) {
    return Expected{largest_of(window, *image, Place(i, y.shape)).value, 0};
  });
  compare(operation, "chosen", chosen, [&](std::int64_t i) {
    const Largest largest = largest_of(window, *image, Place(i, y.shape));
    // Which of several NaN it was is the device's own.
    const double bound = std::isnan(largest.value) ? 255 : 0;
    return Expected{static_cast<double>(largest.place), bound};
  });
}

void CheckBackend::max_pool_backward(const Window& window, ConstTensor chosen, ConstTensor dy,
                                     Tensor dx) {
  const Held places = hold(chosen);
  const Held gradient = hold(dy);
  inner_.max_pool_backward(window, chosen, dy, dx);
  compare(named("max_pool_backward", dx.dtype), "dx", dx, [&](std::int64_t i) {
    const Place at(i, dx.shape);
    Sum terms;
    for (std::int64_t k = 0; k < window.kernel * window.kernel; ++k) {
      const std::int64_t down = at.h + window.padding - k / window.kernel;
      const std::int64_t right = at.w + window.padding - k % window.kernel;
      if (down < 0 || right < 0 || down % window.stride != 0 || right % window.stride != 0) {
        continue;
      }
      if (down / window.stride >= dy.shape[1] || right / window.stride >= dy.shape[2]) continue;
      const std::int64_t from =
          index_of(dy.shape, at.b, down / window.stride, right / window.stride, at.c);
      if (places->as<std::uint8_t>()[from] == k) terms.add((*gradient)[from]);
    }
    const double error =
        summation_error(window.kernel * window.kernel, accumulator_of(dx.dtype), terms.magnitude);
    return stored(dx.dtype, {terms.value, error});
  });
}

void CheckBackend::average_pool(ConstTensor x, Tensor y) {
  const Held image = hold(x);
  inner_.average_pool(x, y);
  const std::int64_t pixels = x.shape[1] * x.shape[2];
  const std::int64_t channels = x.shape[3];
  const DType accumulator = accumulator_of(x.dtype);
  compare(named("average_pool", x.dtype), "y", y, [&](std::int64_t i) {
    const Sum terms =
        sum({*image, i / channels * pixels * channels + i % channels, channels}, pixels);
    const auto divisor = static_cast<double>(pixels);
    const double value = terms.value / divisor;
    // The quotient may be formed before the sum or after it, or from a rounded reciprocal.
    return stored(y.dtype,
                  {value, summation_error(pixels, accumulator, terms.magnitude) / divisor +
                              2 * working_roundoff(accumulator) * terms.magnitude / divisor});
  });
}

void CheckBackend::average_pool_backward(ConstTensor dy, Tensor dx) {
  const Held gradient = hold(dy);
  inner_.average_pool_backward(dy, dx);
  const std::int64_t pixels = dx.shape[1] * dx.shape[2];
  const std::int64_t channels = dx.shape[3];
  const double u = working_roundoff(accumulator_of(dx.dtype));
  compare(named("average_pool_backward", dx.dtype), "dx", dx, [&](std::int64_t i) {
    const double value =
        (*gradient)[i / channels / pixels * channels + i % channels] / static_cast<double>(pixels);
    return stored(dx.dtype, {value, 2 * u * std::abs(value)});
  });
}

}  // namespace trainbench
