#include <algorithm>
#include <string>
#include <vector>

#include "common/check/check_backend.h"
#include "common/check/expected.h"
#include "common/check/minimal_filtering.h"
#include "common/check/reference.h"
#include "common/convolution_size.h"

namespace trainbench {
namespace {

/// A convolution by its definition, with a tensor's elements addressed by their places.
struct Convolution {
  Window window;
  ConvolutionSize size;

  std::int64_t x(std::int64_t b, std::int64_t h, std::int64_t w, std::int64_t c) const {
    return ((b * size.height + h) * size.width + w) * size.channels + c;
  }
  std::int64_t weight(std::int64_t f, std::int64_t ky, std::int64_t kx, std::int64_t c) const {
    return ((f * size.kernel + ky) * size.kernel + kx) * size.channels + c;
  }
  std::int64_t y(std::int64_t b, std::int64_t oh, std::int64_t ow, std::int64_t f) const {
    return ((b * size.out_height + oh) * size.out_width + ow) * size.filters + f;
  }
  /// The pixel that place `k` of the window at output `o` falls on, which may lie outside.
  std::int64_t pixel(std::int64_t o, std::int64_t k) const {
    return o * window.stride - window.padding + k;
  }
  bool inside(std::int64_t h, std::int64_t w) const {
    return h >= 0 && h < size.height && w >= 0 && w < size.width;
  }

  /// An output, without its bias.
  Sum output(const HostTensor& image, const HostTensor& weights, std::int64_t index) const {
    const std::int64_t f = index % size.filters;
    const std::int64_t ow = index / size.filters % size.out_width;
    const std::int64_t oh = index / size.filters / size.out_width % size.out_height;
    const std::int64_t b = index / size.filters / size.out_width / size.out_height;
    Sum total;
    for (std::int64_t ky = 0; ky < size.kernel; ++ky) {
      for (std::int64_t kx = 0; kx < size.kernel; ++kx) {
        const std::int64_t h = pixel(oh, ky);
        const std::int64_t w = pixel(ow, kx);
        if (!inside(h, w)) continue;
        add(total,
            dot({image, x(b, h, w, 0), 1}, {weights, weight(f, ky, kx, 0), 1}, size.channels));
      }
    }
    return total;
  }

  /// An input's gradient.
  Sum data_gradient(const HostTensor& dy, const HostTensor& weights, std::int64_t index) const {
    const std::int64_t c = index % size.channels;
    const std::int64_t w = index / size.channels % size.width;
    const std::int64_t h = index / size.channels / size.width % size.height;
    const std::int64_t b = index / size.channels / size.width / size.height;
    const std::int64_t filter = size.patch();  // elements from one filter to the next
    Sum total;
    for (std::int64_t ky = 0; ky < size.kernel; ++ky) {
      for (std::int64_t kx = 0; kx < size.kernel; ++kx) {
        const std::int64_t down = h + window.padding - ky;
        const std::int64_t right = w + window.padding - kx;
        if (down < 0 || right < 0 || down % window.stride != 0 || right % window.stride != 0) {
          continue;
        }
        const std::int64_t oh = down / window.stride;
        const std::int64_t ow = right / window.stride;
        if (oh >= size.out_height || ow >= size.out_width) continue;
        add(total,
            dot({dy, y(b, oh, ow, 0), 1}, {weights, weight(0, ky, kx, c), filter}, size.filters));
      }
    }
    return total;
  }

  /// A weight's gradient: of each row of outputs, the pixels whose place is inside.
  Sum weight_gradient(const HostTensor& image, const HostTensor& dy, std::int64_t index) const {
    const std::int64_t c = index % size.channels;
    const std::int64_t kx = index / size.channels % size.kernel;
    const std::int64_t ky = index / size.channels / size.kernel % size.kernel;
    const std::int64_t f = index / size.patch();
    std::int64_t first = 0;
    while (first < size.out_width && pixel(first, kx) < 0) ++first;
    std::int64_t last = size.out_width;
    while (last > first && pixel(last - 1, kx) >= size.width) --last;
    Sum total;
    for (std::int64_t row = 0; row < size.batch * size.out_height; ++row) {
      const std::int64_t b = row / size.out_height;
      const std::int64_t h = pixel(row % size.out_height, ky);
      if (h < 0 || h >= size.height || first == last) continue;
      add(total, dot({image, x(b, h, pixel(first, kx), c), window.stride * size.channels},
                     {dy, y(b, row % size.out_height, first, f), size.filters}, last - first));
    }
    return total;
  }

  /// Bounds of the same three where minimal filtering computed them.
  double filtered_output_error(const HostTensor& image, const HostTensor& weights,
                               std::int64_t index) const {
    using namespace minimal_filtering;
    const std::int64_t f = index % size.filters;
    const std::int64_t ow = index / size.filters % size.out_width;
    const std::int64_t oh = index / size.filters / size.out_width % size.out_height;
    const std::int64_t b = index / size.filters / size.out_width / size.out_height;
    double magnitude = 0;
    for (std::int64_t c = 0; c < size.channels; ++c) {
      const auto pixels = transformed<4>(of_pixels, [&](std::int64_t i, std::int64_t j) {
        const std::int64_t h = oh / 2 * 2 - window.padding + i;
        const std::int64_t w = ow / 2 * 2 - window.padding + j;
        return inside(h, w) ? image[x(b, h, w, c)] : 0.0;
      });
      const auto taps = transformed<3>(
          of_taps, [&](std::int64_t i, std::int64_t j) { return weights[weight(f, i, j, c)]; });
      magnitude += products(pixels, taps, kOfOutput[oh % 2], kOfOutput[ow % 2]);
    }
    return error(size.channels, magnitude);
  }
  double filtered_data_gradient_error(const HostTensor& dy, const HostTensor& weights,
                                      std::int64_t index) const {
    using namespace minimal_filtering;
    const std::int64_t c = index % size.channels;
    const std::int64_t w = index / size.channels % size.width;
    const std::int64_t h = index / size.channels / size.width % size.height;
    const std::int64_t b = index / size.channels / size.width / size.height;
    double magnitude = 0;
    for (std::int64_t f = 0; f < size.filters; ++f) {
      const auto slopes = transformed<4>(of_pixels, [&](std::int64_t i, std::int64_t j) {
        const std::int64_t oh = h / 2 * 2 - (2 - window.padding) + i;
        const std::int64_t ow = w / 2 * 2 - (2 - window.padding) + j;
        const bool there = oh >= 0 && oh < size.out_height && ow >= 0 && ow < size.out_width;
        return there ? dy[y(b, oh, ow, f)] : 0.0;
      });
      const auto taps = transformed<3>(of_taps, [&](std::int64_t i, std::int64_t j) {
        return weights[weight(f, 2 - i, 2 - j, c)];
      });
      magnitude += products(slopes, taps, kOfOutput[h % 2], kOfOutput[w % 2]);
    }
    return error(size.filters, magnitude);
  }
  double filtered_weight_gradient_error(const HostTensor& image, const HostTensor& dy,
                                        std::int64_t index) const {
    using namespace minimal_filtering;
    const std::int64_t c = index % size.channels;
    const std::int64_t kx = index / size.channels % size.kernel;
    const std::int64_t ky = index / size.channels / size.kernel % size.kernel;
    const std::int64_t f = index / size.patch();
    double magnitude = 0;
    std::int64_t tiles = 0;
    for (std::int64_t b = 0; b < size.batch; ++b) {
      for (std::int64_t oh = 0; oh < size.out_height; oh += 2) {
        for (std::int64_t ow = 0; ow < size.out_width; ow += 2, ++tiles) {
          const auto pixels = transformed<4>(of_pixels, [&](std::int64_t i, std::int64_t j) {
            const std::int64_t h = oh - window.padding + i;
            const std::int64_t w = ow - window.padding + j;
            return inside(h, w) ? image[x(b, h, w, c)] : 0.0;
          });
          const auto slopes = transformed<2>(of_slopes, [&](std::int64_t i, std::int64_t j) {
            const bool there = oh + i < size.out_height && ow + j < size.out_width;
            return there ? dy[y(b, oh + i, ow + j, f)] : 0.0;
          });
          magnitude += products(pixels, slopes, kOfTap[ky], kOfTap[kx]);
        }
      }
    }
    return error(tiles, magnitude);
  }

  static void add(Sum& total, const Sum& part) {
    total.value += part.value;
    total.magnitude += part.magnitude;
  }
};

/// Whether the device says that minimal filtering served the convolution of this name.
bool is_filtered(const Backend& device, const std::string& name) {
  const std::vector<Served> all = device.served();
  return std::any_of(all.begin(), all.end(), [&](const Served& served) {
    return served.provider == "winograd" && served.operation.starts_with(name);
  });
}

}  // namespace

void CheckBackend::conv2d(const Window& window, ConstTensor x, ConstTensor weights,
                          ConstTensor bias, Tensor y, MathMode math) {
  const Convolution reference{window, convolution_size(window, x, weights, y)};
  const Held image = hold(x);
  const Held kernel = hold(weights);
  const Held addend = hold(bias);
  inner_.conv2d(window, x, weights, bias, y, math);
  const std::int64_t filters = reference.size.filters;
  const std::int64_t elements = y.elements() / y.shape[0];
  const bool each_image = bias.shape.rank() == 2;
  const std::string operation = convolution_name("conv2d", window, reference.size, x.dtype);
  const bool filtered = is_filtered(inner_, operation);
  compare(operation, "y", y, [&](std::int64_t index) {
    Sum terms = reference.output(*image, *kernel, index);
    double rounded = 0;  // of a sum that a pass of its own adds the image's bias to
    if (each_image) rounded = rounding_error(y.dtype, terms.value);
    if (!addend->absent()) {
      const std::int64_t row = each_image ? index / elements : 0;
      terms.add((*addend)[row * filters + index % filters]);
    }
    double error = product_error(reference.size.patch() + 1, x.dtype, math, terms.magnitude);
    if (filtered) {
      error = std::max(error, reference.filtered_output_error(*image, *kernel, index));
    }
    return stored(y.dtype, {terms.value, error + rounded + underflow_error(x.dtype)});
  });
}

void CheckBackend::conv2d_data_gradient(const Window& window, ConstTensor dy, ConstTensor weights,
                                        Tensor dx, bool accumulate, MathMode math) {
  const Convolution reference{window, convolution_size(window, dx, weights, dy)};
  const Held gradient = hold(dy);
  const Held kernel = hold(weights);
  const Held before = hold(accumulate ? ConstTensor(dx) : ConstTensor());
  inner_.conv2d_data_gradient(window, dy, weights, dx, accumulate, math);
  const std::int64_t terms_of_one = window.kernel * window.kernel * reference.size.filters + 1;
  const std::string operation =
      convolution_name("conv2d_data_gradient", window, reference.size, dx.dtype);
  const bool filtered = is_filtered(inner_, operation);
  compare(operation, "dx", dx, [&](std::int64_t index) {
    Sum terms = reference.data_gradient(*gradient, *kernel, index);
    if (!before->absent()) terms.add((*before)[index]);
    double error = product_error(terms_of_one, dx.dtype, math, terms.magnitude);
    if (filtered) {
      error = std::max(error, reference.filtered_data_gradient_error(*gradient, *kernel, index));
    }
    return stored(dx.dtype, {terms.value, error + underflow_error(dx.dtype)});
  });
}

// One weight's sum goes over all pixels: 256 of them are enough work, and fewer where each is a sum
// over transformed tiles too.
void CheckBackend::conv2d_weight_gradient(const Window& window, ConstTensor x, ConstTensor dy,
                                          Tensor dw, Tensor db, MathMode math) {
  constexpr std::int64_t kChecked = 256;
  const Convolution reference{window, convolution_size(window, x, dw, dy)};
  const Held image = hold(x);
  const Held gradient = hold(dy);
  inner_.conv2d_weight_gradient(window, x, dy, dw, db, math);
  const std::int64_t pixels = reference.size.pixels();
  const std::int64_t filters = reference.size.filters;
  const std::string operation =
      convolution_name("conv2d_weight_gradient", window, reference.size, x.dtype);
  const bool filtered = is_filtered(inner_, operation);
  compare(
      operation, "dw", dw,
      [&](std::int64_t index) {
        const Sum terms = reference.weight_gradient(*image, *gradient, index);
        double error = product_error(pixels, x.dtype, math, terms.magnitude);
        if (filtered) {
          error =
              std::max(error, reference.filtered_weight_gradient_error(*image, *gradient, index));
        }
        return stored(dw.dtype, {terms.value, error + underflow_error(x.dtype)});
      },
      filtered ? kChecked / 4 : kChecked);
  compare(
      operation, "db", db,
      [&](std::int64_t f) {
        const Sum terms = sum({*gradient, f, filters}, pixels);
        return stored(db.dtype, {terms.value, summation_error(pixels, db.dtype, terms.magnitude)});
      },
      kChecked);
}

}  // namespace trainbench
