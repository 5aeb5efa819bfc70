#include "gpu/conv2d.cuh"

namespace trainbench::gpu {
namespace {

/// With stride s the pixels of dx fall into s x s phases, each of which sees every s-th place of
/// the window alone: a convolution of stride 1 of its own, one product of the batch.
struct Phases {
  int kernel;
  int stride;
  int padding;

  /// What a phase is in one direction.
  struct Phase {
    int first;  ///< place in the window
    int base;   ///< pixel of dy that the first pixel meets there
    int places;
  };
  __device__ Phase phase(int index) const {
    const int first = (index + padding) % stride;
    return {first, (index + padding) / stride,
            first < kernel ? (kernel - first + stride - 1) / stride : 0};
  }
  __device__ Phase down(int batch) const { return phase(batch / stride); }
  __device__ Phase across(int batch) const { return phase(batch % stride); }
};

/// dy as the pixels of dx see it: k = (place in the window, filter).
template <class T>
struct GradientSource : WindowSource<T> {
  Phases phases;

  __device__ void select(int batch) {
    const auto down = phases.down(batch);
    const auto across = phases.across(batch);
    this->base_y = down.base;
    this->base_x = across.base;
    this->k = down.places * across.places * this->image.channels;
    this->window_width = SmallDivider(max(across.places, 1));
  }
};

/// The weights likewise: rows are channels.
template <class T>
struct FilterSource {
  static constexpr Contiguous kContiguous = Contiguous::row;
  const T* data;
  int channels;
  int k;
  Divider filter;
  SmallDivider window_width;
  Phases phases;
  int first = 0;  ///< place in the window; a pointer that moved there would take two registers

  using Line = int;

  __device__ void select(int batch) {
    const auto down = phases.down(batch);
    const auto across = phases.across(batch);
    first = down.first * phases.kernel + across.first;
    window_width = SmallDivider(max(across.places, 1));
  }
  /// The same k as the other operand's, in the same register.
  __device__ void end_at(int depth) { k = depth; }
  __device__ Line line(int row) const { return row; }
  __device__ Piece<T> at(int row, int depth) const {
    int index = depth;
    int tap_x = filter.divide(index);
    const int tap_y = window_width.divide(tap_x);
    const int place = (index * phases.kernel + tap_y * phases.stride) * phases.kernel +
                      tap_x * phases.stride + first;
    return {data + (place * channels + row), depth < k ? channels - row : 0};
  }
};

template <class T>
struct DataGradientEpilogue {
  using Result = T;
  T* out;
  ImageExtents image;
  bool accumulate;
  bool vector;
  int stride;
  Divider grid;  ///< pixels of an image's phase
  Divider grid_width;
  int phase_y = 0;
  int phase_x = 0;

  __device__ void select(int batch) {
    phase_y = batch / stride;
    phase_x = batch % stride;
  }

  template <class Sum, int kCount>
  __device__ void operator()(int row, int column, Sum (&sums)[kCount], int count) const {
    int place = row;
    const std::int64_t index = grid.divide(place);
    const int y = grid_width.divide(place) * stride + phase_y;
    const int x = place * stride + phase_x;
    if (y >= image.height || x >= image.width) return;
    T* const to = out + index * image.elements() + (y * image.width + x) * image.channels + column;
    store_group(to, sums, count, vector, accumulate);
  }
};

}  // namespace

void convolve_data_gradient(const Queue& queue, const Convolution& convolution, ConstTensor dy,
                            ConstTensor weights, Tensor dx, bool accumulate) {
  const ConvolutionSize& size = convolution.size;
  const auto& [kernel, stride, padding] = convolution.window;
  const Phases phases{static_cast<int>(kernel), static_cast<int>(stride),
                      static_cast<int>(padding)};
  const std::int64_t grid_height = (size.height + stride - 1) / stride;
  const std::int64_t grid_width = (size.width + stride - 1) / stride;
  const std::int64_t places = (kernel + stride - 1) / stride;
  const std::int64_t rows = size.batch * grid_height * grid_width;
  const std::int64_t depth = places * places * size.filters;
  dispatch_unit(dy.dtype, convolution.math, [&](auto tag, auto unit) {
    using T = typename decltype(tag)::type;
    constexpr Unit kUnit = decltype(unit)::value;
    constexpr std::int64_t kLanes = kVectorBytes / sizeof(T);
    GradientSource<T> a{};
    a.data = elements_of<T>(dy);
    a.image = extents(size.out_height, size.out_width, size.filters);
    a.rows = static_cast<int>(rows);
    a.step = 1;
    a.direction = -1;
    a.grid = Divider(grid_height * grid_width);
    a.grid_width = Divider(grid_width);
    a.channels = Divider(size.filters);
    a.phases = phases;
    const FilterSource<T> b{.data = elements_of<T>(weights),
                            .channels = static_cast<int>(size.channels),
                            .k = 0,
                            .filter = a.channels,
                            .window_width = {},
                            .phases = phases};
    const DataGradientEpilogue<T> epilogue{
        .out = elements_of<T>(dx),
        .image = extents(size.height, size.width, size.channels),
        .accumulate = accumulate,
        .vector = size.channels % kGroup<T> == 0 && aligned(dx.data),
        .stride = phases.stride,
        .grid = a.grid,
        .grid_width = a.grid_width};
    const bool vector =
        size.filters % kLanes == 0 && size.channels % kLanes == 0 && aligned(dy.data, weights.data);
    dispatch_tile<T, kUnit, true>(
        queue, rows * stride * stride, size.channels, depth, vector, [&](auto tile, auto whole) {
          using Tile = decltype(tile);
          const GemmSize parts = divided<Tile>(queue, rows, size.channels, depth, stride * stride);
          launch_gemm<Tile, decltype(whole)::value>(queue, parts, a, b, epilogue);
        });
  });
}

}  // namespace trainbench::gpu
