#include "cpu/tiled_convolution.h"

#include <algorithm>
#include <cstring>

#include "common/core/dispatch.h"
#include "cpu/convert.h"
#include "cpu/epilogue.h"
#include "cpu/parallel.h"

namespace trainbench {
namespace {

/// A tile's patches stay in the second-level caches of the cores; below so many rows a product
/// would read the weights more often than pays.
constexpr std::int64_t kTileBytes = std::int64_t{1} << 20;
constexpr std::int64_t kTileRows = 256;

bool is_product(const Window& window) {
  return window.kernel == 1 && window.stride == 1 && window.padding == 0;
}

/// Tiles of nearly equal size.
std::int64_t tile_rows(std::int64_t rows, std::int64_t row_bytes) {
  const std::int64_t most = std::max(kTileRows, kTileBytes / row_bytes);
  const std::int64_t tiles = (rows + most - 1) / most;
  return (rows + tiles - 1) / tiles;
}

/// The part of a window's row that lies in the image: places [first, last) of its `kernel`.
Range clipped(std::int64_t start, std::int64_t kernel, std::int64_t extent) {
  const std::int64_t first = std::min(kernel, std::max<std::int64_t>(0, -start));
  return {first, std::max(first, std::min(kernel, extent - start))};
}

/// patches[count, kernel, kernel, c] of the pixels from `first` on.
template <class T>
void gather(int threads, const Window& window, const ConvolutionSize& size, const T* x,
            std::int64_t first, std::int64_t count, T* patches) {
  const std::int64_t row = size.kernel * size.channels;
  const std::int64_t grain = std::max<std::int64_t>(1, kGrain / size.patch());
  parallel_ranges(threads, count, grain, [=, &window, &size](Range part) {
    for (std::int64_t i = part.first; i < part.last; ++i) {
      const std::int64_t pixel = first + i;
      const std::int64_t image = pixel / (size.out_height * size.out_width);
      const std::int64_t top =
          pixel / size.out_width % size.out_height * window.stride - window.padding;
      const std::int64_t left = pixel % size.out_width * window.stride - window.padding;
      const Range places = clipped(left, size.kernel, size.width);
      T* to = patches + i * size.patch();
      for (std::int64_t h = top; h < top + size.kernel; ++h, to += row) {
        if (h < 0 || h >= size.height || places.first == places.last) {
          std::fill_n(to, row, T{});
          continue;
        }
        const T* from = x + ((image * size.height + h) * size.width + left) * size.channels;
        std::fill(to, to + places.first * size.channels, T{});
        std::copy(from + places.first * size.channels, from + places.last * size.channels,
                  to + places.first * size.channels);
        std::fill(to + places.last * size.channels, to + row, T{});
      }
    }
  });
}

/// Rows of outputs, counted through all images.
struct Rows {
  std::int64_t first;
  std::int64_t last;
};

/// The reverse: images += the patches of those rows. `images` starts at the first row's image, all
/// of which are set to zero before if `fresh`.
template <class W>
void scatter(int threads, const Window& window, const ConvolutionSize& size, const Rows& rows,
             const W* patches, bool fresh, W* images) {
  const std::int64_t first_image = rows.first / size.out_height;
  const std::int64_t count = (rows.last - 1) / size.out_height + 1 - first_image;
  const std::int64_t line = size.width * size.channels;
  const std::int64_t patch_row = size.kernel * size.channels;
  parallel_ranges(threads, count * size.height, 1, [=, &window, &size](Range part) {
    for (std::int64_t i = part.first; i < part.last; ++i) {
      W* const to = images + i * line;
      if (fresh) std::fill_n(to, line, W{0});
      for (std::int64_t ky = 0; ky < size.kernel; ++ky) {
        const std::int64_t below = i % size.height + window.padding - ky;
        if (below < 0 || below % window.stride != 0 || below / window.stride >= size.out_height) {
          continue;
        }
        const std::int64_t row =
            (first_image + i / size.height) * size.out_height + below / window.stride;
        if (row < rows.first || row >= rows.last) continue;
        const W* from = patches + (row - rows.first) * size.out_width * size.patch();
        for (std::int64_t ow = 0; ow < size.out_width; ++ow) {
          const std::int64_t left = ow * window.stride - window.padding;
          const Range places = clipped(left, size.kernel, size.width);
          const W* const terms = from + ow * size.patch() + ky * patch_row;
          W* const sums = to + left * size.channels;
#pragma omp simd
          for (std::int64_t j = places.first * size.channels; j < places.last * size.channels;
               ++j) {
            sums[j] += terms[j];
          }
        }
      }
    }
  });
}

/// `count` rows of a tensor from `first` on, as a matrix.
template <class View>
View rows_of(const View& tensor, std::int64_t columns, std::int64_t first, std::int64_t count) {
  return tensor.range(first * columns, count * columns).reshaped(Shape{count, columns});
}

}  // namespace

ConstTensor TiledConvolution::patches(const ConvolutionCall& call, const ConvolutionSize& size,
                                      std::int64_t first, std::int64_t count) {
  if (is_product(call.window)) return rows_of(call.x, size.channels, first, count);
  const Shape shape{count, size.patch()};
  const auto bytes = static_cast<std::size_t>(shape.elements()) * size_of(call.x.dtype);
  const Tensor tile(arena_.scratch(Scratch::patches, bytes), shape, call.x.dtype);
  dispatch_float(call.x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    gather(threads_, call.window, size, call.x.as<T>(), first, count, tile.as<T>());
  });
  return tile;
}

void TiledConvolution::forward(const ConvolutionCall& call, const ConvolutionSize& size) {
  const ConstTensor weights = call.weights.reshaped(Shape{size.filters, size.patch()});
  const auto bytes = static_cast<std::int64_t>(size_of(call.x.dtype));
  const std::int64_t rows =
      is_product(call.window) ? size.pixels() : tile_rows(size.pixels(), size.patch() * bytes);
  for (std::int64_t first = 0; first < size.pixels(); first += rows) {
    const std::int64_t count = std::min(rows, size.pixels() - first);
    matmul_.run({{.transpose_b = true},
                 patches(call, size, first, count),
                 weights,
                 rows_of(call.y, size.filters, first, count),
                 {.bias = call.bias}});
  }
}

void TiledConvolution::weight_gradient(const ConvolutionCall& call, const ConvolutionSize& size) {
  const Tensor weights = call.weights.reshaped(Shape{size.filters, size.patch()});
  const auto bytes = static_cast<std::int64_t>(size_of(call.x.dtype));
  const std::int64_t rows =
      is_product(call.window) ? size.pixels() : tile_rows(size.pixels(), size.patch() * bytes);
  for (std::int64_t first = 0; first < size.pixels(); first += rows) {
    const std::int64_t count = std::min(rows, size.pixels() - first);
    matmul_.run({{.transpose_a = true, .accumulate = first > 0},
                 rows_of(ConstTensor(call.y), size.filters, first, count),
                 patches(call, size, first, count),
                 weights,
                 {}});
  }
}

void TiledConvolution::data_gradient(const ConvolutionCall& call, const ConvolutionSize& size) {
  const ConstTensor weights = call.weights.reshaped(Shape{size.filters, size.patch()});
  if (is_product(call.window)) {
    matmul_.run({{.accumulate = call.accumulate},
                 rows_of(ConstTensor(call.y), size.filters, 0, size.pixels()),
                 weights,
                 rows_of(call.x, size.channels, 0, size.pixels()),
                 {}});
    return;
  }
  const DType wide = accumulator_of(call.x.dtype);
  const auto bytes = static_cast<std::int64_t>(size_of(wide));
  const std::int64_t row_pixels = size.out_width;
  const std::int64_t image_bytes = size.out_height * row_pixels * size.patch() * bytes;
  // Sums are complete where a group of images ends.
  const std::int64_t images = std::clamp<std::int64_t>(kTileBytes / image_bytes, 1, size.batch);
  const std::int64_t image_elements = size.height * size.width * size.channels;
  const bool direct = wide == call.x.dtype && !call.accumulate;
  for (std::int64_t image = 0; image < size.batch; image += images) {
    const std::int64_t count = std::min(images, size.batch - image);
    const Tensor group = call.x.range(image * image_elements, count * image_elements);
    Tensor sums = group;
    if (!direct) {
      const auto group_bytes = static_cast<std::size_t>(count * image_elements * bytes);
      sums = Tensor(arena_.scratch(Scratch::images, group_bytes), group.shape, wide);
    }
    const std::int64_t last = (image + count) * size.out_height;
    const std::int64_t most = count * size.out_height;
    const std::int64_t tile =
        (tile_rows(most * row_pixels, size.patch() * bytes) + row_pixels - 1) / row_pixels;
    for (std::int64_t first = image * size.out_height; first < last; first += tile) {
      const Rows rows{first, std::min(last, first + tile)};
      const std::int64_t pixels = (rows.last - rows.first) * row_pixels;
      const Shape shape{pixels, size.patch()};
      const Tensor terms(
          arena_.scratch(Scratch::patches, static_cast<std::size_t>(shape.elements() * bytes)),
          shape, wide);
      matmul_.run({{},
                   rows_of(ConstTensor(call.y), size.filters, first * row_pixels, pixels),
                   weights,
                   terms,
                   {}});
      const bool fresh = first % size.out_height == 0;
      if (wide == DType::f64) {
        scatter(threads_, call.window, size, rows, terms.as<double>(), fresh, sums.as<double>());
      } else {
        scatter(threads_, call.window, size, rows, terms.as<float>(), fresh, sums.as<float>());
      }
    }
    if (!direct) {
      const Shape matrix{count * size.height * size.width, size.channels};
      apply_epilogue(threads_, sums.data, call.accumulate, group.reshaped(matrix), {});
    }
  }
}

void TiledConvolution::run(const ConvolutionCall& call) {
  const ConvolutionSize size = call.size();
  switch (call.pass) {
    case ConvolutionPass::forward:
      return forward(call, size);
    case ConvolutionPass::data_gradient:
      return data_gradient(call, size);
    case ConvolutionPass::weight_gradient:
      return weight_gradient(call, size);
  }
}

}  // namespace trainbench
