#include "gpu/conv2d.cuh"

namespace trainbench::gpu {
namespace {

/// Adds a bias of each filter, or of each filter and image.
template <class T>
struct ForwardEpilogue {
  using Result = T;
  T* out;
  const T* bias;  ///< may be null
  int filters;
  bool each_image;
  bool vector;
  Divider pixels;  ///< of an image

  __device__ void select(int) {}

  template <class Sum, int kCount>
  __device__ void operator()(int row, int column, Sum (&sums)[kCount], int count) const {
    if (bias != nullptr) {
      const std::int64_t image = each_image ? pixels.quotient(row) : 0;
      const T* const from = bias + image * filters + column;
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        if (i < count) sums[i] += convert<Sum>(from[i]);
      }
    }
    store_group(out + static_cast<std::int64_t>(row) * filters + column, sums, count, vector);
  }
};

template <class T>
WindowSource<T> window_source(const Convolution& convolution, const ConstTensor& x) {
  const ConvolutionSize& size = convolution.size;
  const auto& [kernel, stride, padding] = convolution.window;
  return {.data = elements_of<T>(x),
          .image = extents(size.height, size.width, size.channels),
          .rows = static_cast<int>(size.pixels()),
          .k = static_cast<int>(size.patch()),
          .step = static_cast<int>(stride),
          .base_y = static_cast<int>(-padding),
          .base_x = static_cast<int>(-padding),
          .direction = 1,
          .grid = Divider(size.out_height * size.out_width),
          .grid_width = Divider(size.out_width),
          .channels = Divider(size.channels),
          .window_width = SmallDivider(kernel)};
}

}  // namespace

void convolve(const Queue& queue, const Convolution& convolution, ConstTensor x,
              ConstTensor weights, ConstTensor bias, Tensor y) {
  const ConvolutionSize& size = convolution.size;
  dispatch_unit(x.dtype, convolution.math, [&](auto tag, auto unit) {
    using T = typename decltype(tag)::type;
    constexpr Unit kUnit = decltype(unit)::value;
    constexpr std::int64_t kLanes = kVectorBytes / sizeof(T);
    const auto a = window_source<T>(convolution, x);
    const MatrixSource<T, Contiguous::k> b{.data = elements_of<T>(weights),
                                           .line_step = size.patch(),
                                           .rows = static_cast<int>(size.filters),
                                           .k = a.k};
    const ForwardEpilogue<T> epilogue{.out = elements_of<T>(y),
                                      .bias = elements_of<T>(bias),
                                      .filters = b.rows,
                                      .each_image = bias.shape.rank() == 2,
                                      .vector = size.filters % kGroup<T> == 0 && aligned(y.data),
                                      .pixels = a.grid};
    const auto launch = [&](auto tile, auto vector) {
      using Tile = decltype(tile);
      const GemmSize divided_size = divided<Tile>(queue, a.rows, b.rows, a.k, 1);
      launch_gemm<Tile, decltype(vector)::value>(queue, divided_size, a, b, epilogue);
    };
    const bool vector = size.channels % kLanes == 0 && aligned(x.data, weights.data);
    dispatch_tile<T, kUnit, true>(queue, a.rows, b.rows, a.k, vector, launch);
  });
}

}  // namespace trainbench::gpu
