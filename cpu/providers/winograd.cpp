#include "cpu/providers/winograd.h"

#include <omp.h>

#include <algorithm>
#include <cstddef>

#include "cpu/parallel.h"
#include "cpu/providers/winograd_transforms.h"
#include "cpu/small_product.h"

namespace trainbench {
namespace {

using winograd::OfPixels;
using winograd::OfSlopes;
using winograd::OfTaps;
using winograd::Row;
using winograd::Square;
using winograd::ToOutputs;
using winograd::ToTaps;
using winograd::transformed;

using Vector = Lanes<float>::Vector;
constexpr std::int64_t kLanes = Lanes<float>::kCount;

constexpr std::int64_t kTile = 4;     ///< pixels of a tile in each direction, which overlap
constexpr std::int64_t kStep = 2;     ///< from tile to tile
constexpr std::int64_t kPlaces = 16;  ///< products of a tile
constexpr std::int64_t kPanel = 64;   ///< columns that small_product takes at once

// ---- Images and tiles
// ----------------------------------------------------------------------------

/// [b, h, w, c] with zeros around it.
struct Image {
  float* data;
  std::int64_t height;
  std::int64_t width;
  std::int64_t channels;

  /// Null outside.
  float* pixel(std::int64_t b, std::int64_t h, std::int64_t w) const {
    if (h < 0 || h >= height || w < 0 || w >= width) return nullptr;
    return data + ((b * height + h) * width + w) * channels;
  }
};

/// The tiles that cover the outputs of a problem, counted through all images.
struct Tiles {
  std::int64_t batch;
  std::int64_t rows;
  std::int64_t columns;

  Tiles(std::int64_t batch_size, std::int64_t out_height, std::int64_t out_width)
      : batch(batch_size),
        rows((out_height + kStep - 1) / kStep),
        columns((out_width + kStep - 1) / kStep) {}
  std::int64_t count() const { return batch * rows * columns; }
};

/// Columns of the panel that `column` lies in.
std::int64_t panel_width(std::int64_t columns, std::int64_t column) {
  return std::min(kPanel, columns - column / kPanel * kPanel);
}

/// Where the transforms of a block's tiles lie: for each place a matrix of tiles and channels,
/// whose rows are whole or cut into panels that are matrices of their own.
struct Layout {
  std::int64_t place;  ///< from one place to the next
  std::int64_t channels;
  std::int64_t rows;  ///< of a panel; 0: rows are whole

  std::int64_t at(std::int64_t tile, std::int64_t c) const {
    if (rows == 0) return tile * channels + c;
    return c / kPanel * kPanel * rows + tile * panel_width(channels, c) + c % kPanel;
  }
};

/// kSide x kSide pixels of `image` from (top, left) on, transformed.
template <class Transform, std::size_t kSide>
void transform_tile(const Image& image, std::int64_t b, std::int64_t top, std::int64_t left,
                    const Layout& layout, std::int64_t tile, float* to) {
  const float* pixels[kSide][kSide];
  for (std::size_t i = 0; i < kSide; ++i) {
    for (std::size_t j = 0; j < kSide; ++j) {
      pixels[i][j] =
          image.pixel(b, top + static_cast<std::int64_t>(i), left + static_cast<std::int64_t>(j));
    }
  }
  for (std::int64_t c = 0; c < image.channels; c += kLanes) {
    Square<Vector, kSide> from;
    for (std::size_t i = 0; i < kSide; ++i) {
      for (std::size_t j = 0; j < kSide; ++j) {
        from[i][j] = pixels[i][j] == nullptr ? Vector{} : load_vector(pixels[i][j] + c);
      }
    }
    const Square<Vector, 4> out = transformed<Transform, 4>(from);
    float* place = to + layout.at(tile, c);
    for (const Row<Vector, 4>& row : out) {
      for (const Vector& vector : row) {
        store_vector(vector, place);
        place += layout.place;
      }
    }
  }
}

/// Calls body(index within the block, image, first output row, first output column).
template <class Body>
void for_tiles(const Tiles& tiles, const Range& block, const Body& body) {
  for (std::int64_t tile = block.first; tile < block.last; ++tile) {
    const std::int64_t column = tile % tiles.columns;
    const std::int64_t row = tile / tiles.columns % tiles.rows;
    body(tile - block.first, tile / tiles.columns / tiles.rows, row * kStep, column * kStep);
  }
}

/// What a block of tiles may take: in the passes to outputs, a second-level cache; for the weights'
/// gradient, whose sums are read and written once a block, as much as a third level has for a core.
constexpr std::int64_t kForwardBytes = std::int64_t{3} << 18;
constexpr std::int64_t kGradientBytes = std::int64_t{1} << 22;

/// Tiles that are worked on together, such that every thread gets equally many blocks.
std::int64_t block_tiles(std::int64_t tiles, std::int64_t channels, std::int64_t filters,
                         std::int64_t bytes, int threads) {
  constexpr std::int64_t kMost = 96;
  const std::int64_t tile_bytes = kPlaces * (channels + filters) * std::int64_t{sizeof(float)};
  const std::int64_t fit = std::clamp<std::int64_t>(bytes / tile_bytes, 24, kMost);
  const std::int64_t rounds = (tiles + fit * threads - 1) / (fit * threads);
  const std::int64_t size = (tiles + rounds * threads - 1) / (rounds * threads);
  return (size + 5) / 6 * 6;  // whole rows of small_product's register tiles
}

// ---- Forward pass and data gradient
// ---------------------------------------------------------------

/// A convolution as products: `in` with weights to `out`, the window's border `padding` wide.
struct Problem {
  Image in;
  Image out;
  std::int64_t batch;
  std::int64_t padding;
  float* weights;     ///< [f, 3, 3, c]
  const float* bias;  ///< one for each channel of `out`, or null
  bool backward;      ///< weights are mirrored, and summed over their filters
};

/// Places of the transformed weights as panels [places][panel][in][panel width of out].
void transform_weights(const Problem& p, int threads, float* to) {
  const std::int64_t in = p.in.channels, out = p.out.channels;
  const std::int64_t channels = p.backward ? out : in;  // of an element of `weights`
  const std::int64_t filters = p.backward ? in : out;
  parallel_ranges(threads, filters / kLanes, 1, [=](Range part) {
    for (std::int64_t f = part.first * kLanes; f < part.last * kLanes; f += kLanes) {
      for (std::int64_t c = 0; c < channels; c += kLanes) {
        alignas(64) float block[kPlaces][kLanes][kLanes];  // of filters and channels
        for (std::int64_t i = 0; i < kLanes; ++i) {
          Square<Vector, 3> taps;
          for (std::size_t ky = 0; ky < 3; ++ky) {
            for (std::size_t kx = 0; kx < 3; ++kx) {
              const std::size_t tap = p.backward ? 8 - (ky * 3 + kx) : ky * 3 + kx;
              taps[ky][kx] = load_vector(
                  p.weights + ((f + i) * 9 + static_cast<std::int64_t>(tap)) * channels + c);
            }
          }
          const Square<Vector, 4> places = transformed<OfTaps, 4>(taps);
          for (std::size_t place = 0; place < kPlaces; ++place) {
            store_vector(places[place / 4][place % 4], block[place][i]);
          }
        }
        const std::int64_t column = p.backward ? c : f;
        const std::int64_t row = p.backward ? f : c;
        const std::int64_t width = panel_width(out, column);
        float* const first = to + column / kPanel * kPanel * in + row * width + column % kPanel;
        for (std::int64_t place = 0; place < kPlaces; ++place) {
          float* const target = first + place * in * out;
          for (std::int64_t i = 0; i < kLanes; ++i) {
            for (std::int64_t j = 0; j < kLanes; ++j) {
              target[i * width + j] = p.backward ? block[place][i][j] : block[place][j][i];
            }
          }
        }
      }
    }
  });
}

/// The tile's products, [places] `step` apart, to its 2x2 outputs.
void write_outputs(const Problem& p, const float* products, std::int64_t step, std::int64_t b,
                   std::int64_t top, std::int64_t left) {
  float* pixels[kStep][kStep];
  for (std::int64_t i = 0; i < kStep; ++i) {
    for (std::int64_t j = 0; j < kStep; ++j) pixels[i][j] = p.out.pixel(b, top + i, left + j);
  }
  for (std::int64_t c = 0; c < p.out.channels; c += kLanes) {
    Square<Vector, 4> places;
    for (std::size_t i = 0; i < kPlaces; ++i) {
      places[i / 4][i % 4] = load_vector(products + static_cast<std::int64_t>(i) * step + c);
    }
    const Square<Vector, 2> out = transformed<ToOutputs, 2>(places);
    const Vector bias = p.bias == nullptr ? Vector{} : load_vector(p.bias + c);
    for (std::size_t i = 0; i < 2; ++i) {
      for (std::size_t j = 0; j < 2; ++j) {
        if (pixels[i][j] != nullptr) store_vector(out[i][j] + bias, pixels[i][j] + c);
      }
    }
  }
}

/// From place to place of a block of tiles: one line more than its columns take, lest all places
/// of a tile fall on one set of the first cache.
std::int64_t place_step(std::int64_t block, std::int64_t columns) {
  return block * columns + kPadding;
}

/// Floats of workspace: the weights', and each thread's tiles and products.
struct Workspace {
  std::int64_t weights;
  std::int64_t tiles;
  std::int64_t products;

  std::int64_t floats(int threads) const { return weights + threads * (tiles + products); }
};

Workspace workspace_of(std::int64_t in, std::int64_t out, std::int64_t block) {
  return {kPlaces * in * out, kPlaces * place_step(block, in), kPlaces * place_step(block, out)};
}

void convolve(const Problem& p, int threads, std::int64_t block, float* workspace) {
  const std::int64_t in = p.in.channels, out = p.out.channels;
  const Tiles tiles(p.batch, p.out.height, p.out.width);
  const Workspace size = workspace_of(in, out, block);
  float* const weights = workspace;
  transform_weights(p, threads, weights);
  const std::int64_t blocks = (tiles.count() + block - 1) / block;
  const Layout pixel_layout{place_step(block, in), in, 0};
  parallel_parts(threads, blocks, 1, [=, &p](int part, Range range) {
    float* const pixels = workspace + size.weights + part * (size.tiles + size.products);
    float* const products = pixels + size.tiles;
    for (std::int64_t i = range.first; i < range.last; ++i) {
      const Range own{i * block, std::min(tiles.count(), (i + 1) * block)};
      const std::int64_t count = own.last - own.first;
      for_tiles(tiles, own, [&](std::int64_t tile, std::int64_t b, std::int64_t h, std::int64_t w) {
        transform_tile<OfPixels, kTile>(p.in, b, h - p.padding, w - p.padding, pixel_layout, tile,
                                        pixels);
      });
      for (std::int64_t place = 0; place < kPlaces; ++place) {
        for (std::int64_t column = 0; column < out; column += kPanel) {
          const std::int64_t width = panel_width(out, column);
          small_product<false>(count, width, in,
                               Strided<float>{pixels + place * place_step(block, in), in, 1},
                               weights + (place * out + column) * in, width,
                               products + place * place_step(block, out) + column, out);
        }
      }
      for_tiles(tiles, own, [&](std::int64_t tile, std::int64_t b, std::int64_t h, std::int64_t w) {
        write_outputs(p, products + tile * out, place_step(block, out), b, h, w);
      });
    }
  });
}

// ---- Weight gradient
// ------------------------------------------------------------------------------

/// Sums of a part of the tiles, [places][f][c], and that part's blocks of transformed pixels and
/// slopes.
Workspace gradient_workspace(std::int64_t channels, std::int64_t filters, std::int64_t block) {
  return {kPlaces * channels * filters, kPlaces * place_step(block, channels),
          kPlaces * place_step(block, filters)};
}

/// sums += the products of a block of tiles, whose transforms go to `pixels` and `slopes`.
void add_block(const Problem& p, const Tiles& tiles, const Range& own, std::int64_t block,
               float* sums, float* pixels, float* slopes) {
  const std::int64_t channels = p.in.channels, filters = p.out.channels;
  const Layout pixel_layout{place_step(block, channels), channels, block};
  const Layout slope_layout{place_step(block, filters), filters, 0};
  for_tiles(tiles, own, [&](std::int64_t tile, std::int64_t b, std::int64_t h, std::int64_t w) {
    transform_tile<OfPixels, kTile>(p.in, b, h - p.padding, w - p.padding, pixel_layout, tile,
                                    pixels);
    transform_tile<OfSlopes, 2>(p.out, b, h, w, slope_layout, tile, slopes);
  });
  for (std::int64_t place = 0; place < kPlaces; ++place) {
    for (std::int64_t column = 0; column < channels; column += kPanel) {
      const std::int64_t width = panel_width(channels, column);
      small_product<true>(filters, width, own.last - own.first,
                          Strided<float>{slopes + place * slope_layout.place, 1, filters},
                          pixels + place * pixel_layout.place + column * block, width,
                          sums + place * channels * filters + column, channels);
    }
  }
}

/// From p.in and the slopes p.out to p.weights.
void weight_gradient(const Problem& p, int threads, std::int64_t block, float* workspace) {
  const std::int64_t channels = p.in.channels, filters = p.out.channels;
  const Tiles tiles(p.batch, p.out.height, p.out.width);
  const Workspace size = gradient_workspace(channels, filters, block);
  const std::int64_t step = size.floats(1);
  const std::int64_t blocks = (tiles.count() + block - 1) / block;
  const int parts = parts_of(threads, blocks, 1);
  parallel_parts(parts, blocks, 1, [=, &p](int part, Range range) {
    float* const sums = workspace + part * step;
    float* const pixels = sums + size.weights;
    std::fill_n(sums, size.weights, 0.0f);
    for (std::int64_t i = range.first; i < range.last; ++i) {
      const Range own{i * block, std::min(tiles.count(), (i + 1) * block)};
      add_block(p, tiles, own, block, sums, pixels, pixels + size.tiles);
    }
  });
  parallel_ranges(threads, filters * channels / kLanes, 16, [=, &p](Range range) {
    for (std::int64_t i = range.first * kLanes; i < range.last * kLanes; i += kLanes) {
      Square<Vector, 4> places;
      for (std::size_t place = 0; place < kPlaces; ++place) {
        const float* from = workspace + static_cast<std::int64_t>(place) * channels * filters + i;
        Vector sum = load_vector(from);
        for (int part = 1; part < parts; ++part) sum += load_vector(from + part * step);
        places[place / 4][place % 4] = sum;
      }
      const Square<Vector, 3> taps = transformed<ToTaps, 3>(places);
      float* const to = p.weights + i / channels * 9 * channels + i % channels;
      for (std::int64_t tap = 0; tap < 9; ++tap) {
        const auto t = static_cast<std::size_t>(tap);
        store_vector(taps[t / 3][t % 3], to + tap * channels);
      }
    }
  });
}

// ---- Provider
// -------------------------------------------------------------------------------------

class WinogradPlan final : public ConvolutionPlan {
 public:
  WinogradPlan(const ConvolutionProblem& problem, int threads)
      : p_(problem), threads_(threads), block_(block()) {}

  std::size_t workspace_bytes() const override {
    std::int64_t floats = 0;
    if (p_.pass == ConvolutionPass::weight_gradient) {
      const Workspace size = gradient_workspace(p_.channels, p_.filters, block_);
      floats = threads_ * size.floats(1);
    } else {
      const bool forward = p_.pass == ConvolutionPass::forward;
      floats = workspace_of(forward ? p_.channels : p_.filters, forward ? p_.filters : p_.channels,
                            block_)
                   .floats(threads_);
    }
    return static_cast<std::size_t>(floats) * sizeof(float);
  }

  void run(const ConvolutionOperands& operands) override {
    const Image x{static_cast<float*>(operands.x), p_.height, p_.width, p_.channels};
    const Image y{static_cast<float*>(operands.y), out_height(), out_width(), p_.filters};
    auto* const weights = static_cast<float*>(operands.weights);
    auto* const workspace = static_cast<float*>(operands.workspace);
    switch (p_.pass) {
      case ConvolutionPass::forward:
        convolve(
            {x, y, p_.batch, p_.padding, weights, static_cast<const float*>(operands.bias), false},
            threads_, block_, workspace);
        return;
      case ConvolutionPass::data_gradient:
        convolve({y, x, p_.batch, 2 - p_.padding, weights, nullptr, true}, threads_, block_,
                 workspace);
        return;
      case ConvolutionPass::weight_gradient:
        weight_gradient({x, y, p_.batch, p_.padding, weights, nullptr, false}, threads_, block_,
                        workspace);
        return;
    }
  }

 private:
  std::int64_t out_height() const { return p_.height + 2 * p_.padding - 2; }
  std::int64_t out_width() const { return p_.width + 2 * p_.padding - 2; }

  std::int64_t block() const {
    const bool data = p_.pass == ConvolutionPass::data_gradient;
    const Tiles tiles(p_.batch, data ? p_.height : out_height(), data ? p_.width : out_width());
    return block_tiles(tiles.count(), p_.channels, p_.filters,
                       p_.pass == ConvolutionPass::weight_gradient ? kGradientBytes : kForwardBytes,
                       threads_);
  }

  ConvolutionProblem p_;
  int threads_;
  std::int64_t block_;
};

class WinogradProvider final : public ConvolutionProvider {
 public:
  std::string_view name() const override { return "winograd"; }

  std::unique_ptr<ConvolutionPlan> plan(const ConvolutionProblem& p) const override {
    const bool serves = p.kernel == 3 && p.stride == 1 && p.padding <= 2 && p.height > 2 &&
                        p.width > 2 && p.operands == DType::f32 && p.result == DType::f32 &&
                        p.channels % kPadding == 0 && p.filters % kPadding == 0;
    if (!serves) return nullptr;
    return std::make_unique<WinogradPlan>(p, omp_get_max_threads());
  }
};

}  // namespace

const ConvolutionProvider& winograd_provider() {
  static const WinogradProvider provider;
  return provider;
}

}  // namespace trainbench
