#include "gpu/conv2d.cuh"

namespace trainbench::gpu {
namespace {

/// x as the weights see it: rows are (place in the window, channel), k = pixels of dy.
template <class T>
struct PatchSource {
  static constexpr Contiguous kContiguous = Contiguous::row;
  const T* data;
  ImageExtents image;
  int rows;
  int k;
  int stride;
  int padding;
  Divider grid;  ///< pixels of one image's dy
  Divider grid_width;
  Divider channels;
  Divider window_width;

  struct Line {
    const T* from;  ///< null for a row that is not there
    int y;
    int x;
  };

  __device__ void select(int) {}
  __device__ int depth() const { return k; }

  __device__ Line line(int row) const {
    if (row >= rows) return {nullptr, 0, 0};
    int channel = row;
    int tap_x = channels.divide(channel);
    const int tap_y = window_width.divide(tap_x);
    return {data + channel, tap_y - padding, tap_x - padding};
  }
  __device__ Piece<T> at(const Line& line, int depth) const {
    int place = depth;
    const std::int64_t index = grid.divide(place);
    const int y = grid_width.divide(place) * stride + line.y;
    const int x = place * stride + line.x;
    const bool inside = line.from != nullptr && depth < k &&
                        static_cast<unsigned>(y) < static_cast<unsigned>(image.height) &&
                        static_cast<unsigned>(x) < static_cast<unsigned>(image.width);
    return {line.from + index * image.elements() + (y * image.width + x) * image.channels,
            inside ? static_cast<int>(kVectorBytes / sizeof(T)) : 0};
  }
};

template <class Sum>
struct WeightGradientEpilogue {
  using Result = Sum;
  Sum* out;
  int patch;
  bool vector;

  __device__ void select(int) {}

  template <int kCount>
  __device__ void operator()(int row, int column, Sum (&sums)[kCount], int count) const {
    store_group(out + static_cast<std::int64_t>(row) * patch + column, sums, count, vector);
  }
};

}  // namespace

void convolve_weight_gradient(const Queue& queue, const Convolution& convolution, ConstTensor x,
                              ConstTensor dy, Tensor dw) {
  const ConvolutionSize& size = convolution.size;
  const auto& [kernel, stride, padding] = convolution.window;
  dispatch_unit(x.dtype, convolution.math, [&](auto tag, auto unit) {
    using T = typename decltype(tag)::type;
    using Sum = Accumulator<T>;
    constexpr Unit kUnit = decltype(unit)::value;
    constexpr std::int64_t kLanes = kVectorBytes / sizeof(T);
    const MatrixSource<T, Contiguous::row> a{.data = elements_of<T>(dy),
                                             .line_step = size.filters,
                                             .rows = static_cast<int>(size.filters),
                                             .k = static_cast<int>(size.pixels())};
    const PatchSource<T> b{.data = elements_of<T>(x),
                           .image = extents(size.height, size.width, size.channels),
                           .rows = static_cast<int>(size.patch()),
                           .k = a.k,
                           .stride = static_cast<int>(stride),
                           .padding = static_cast<int>(padding),
                           .grid = Divider(size.out_height * size.out_width),
                           .grid_width = Divider(size.out_width),
                           .channels = Divider(size.channels),
                           .window_width = Divider(kernel)};
    const WeightGradientEpilogue<Sum> epilogue{
        .out = elements_of<Sum>(dw),
        .patch = b.rows,
        .vector = size.patch() % kGroup<Sum> == 0 && aligned(dw.data)};
    const bool vector =
        size.filters % kLanes == 0 && size.channels % kLanes == 0 && aligned(x.data, dy.data);
    dispatch_tile<T, kUnit, false>(
        queue, size.filters, size.patch(), a.k, vector, [&](auto tile, auto whole) {
          using Tile = decltype(tile);
          const GemmSize parts = divided<Tile>(queue, a.rows, b.rows, a.k, 1);
          launch_gemm<Tile, decltype(whole)::value>(queue, parts, a, b, epilogue);
        });
  });
}

}  // namespace trainbench::gpu
