#pragma once

#include "common/convolution_size.h"
#include "gpu/gemm/gemm.cuh"

// A convolution as a product whose operands are read out of images on the way to shared memory (an
// implicit GEMM; Chetlur et al., "cuDNN: Efficient primitives for deep learning", arXiv 1410.0759).

namespace trainbench::gpu {

/// A convolution of any of the three passes.
struct Convolution {
  Window window;
  ConvolutionSize size;
  MathMode math;
};

void convolve(const Queue& queue, const Convolution& convolution, ConstTensor x,
              ConstTensor weights, ConstTensor bias, Tensor y);
void convolve_data_gradient(const Queue& queue, const Convolution& convolution, ConstTensor dy,
                            ConstTensor weights, Tensor dx, bool accumulate);
/// Sums over pixels in parts, which depend on the shape and the device alone.
void convolve_weight_gradient(const Queue& queue, const Convolution& convolution, ConstTensor x,
                              ConstTensor dy, Tensor dw);

/// An image's extents as kernels count: all elements of one image are an int's.
struct ImageExtents {
  int height = 0;
  int width = 0;
  int channels = 0;

  TRAINBENCH_HOST_DEVICE std::int64_t elements() const {
    return static_cast<std::int64_t>(height) * width * channels;
  }
};

inline ImageExtents extents(std::int64_t height, std::int64_t width, std::int64_t channels) {
  return {static_cast<int>(height), static_cast<int>(width), static_cast<int>(channels)};
}

/// An image as rows of what a window sees: row = place in the result's grid, k = (place in the
/// window, channel). Windows start at grid place times `step` plus `base` and run in `direction`.
template <class T>
struct WindowSource {
  static constexpr Contiguous kContiguous = Contiguous::k;
  const T* data;
  ImageExtents image;
  int rows;  ///< places of all images' grids
  int k;
  int step;
  int base_y;
  int base_x;
  int direction;
  Divider grid;  ///< places of one image's grid
  Divider grid_width;
  Divider channels;
  SmallDivider window_width;

  /// Threads keep several: an address would take one register more, a number of its own for the
  /// image too.
  struct Line {
    int pixel;  ///< of all images'
    int y;      ///< in its image; far outside: a row that is not there
    int x;
  };

  __device__ void select(int) {}
  __device__ int depth() const { return k; }

  __device__ Line line(int row) const {
    if (row >= rows) return {0, -(1 << 30), 0};
    int place = row;
    const int index = grid.divide(place);
    const int y = grid_width.divide(place) * step + base_y;
    const int x = place * step + base_x;
    return {(index * image.height + y) * image.width + x, y, x};
  }
  __device__ Piece<T> at(const Line& line, int depth) const {
    int channel = depth;
    int tap_x = channels.divide(channel);
    const int tap_y = window_width.divide(tap_x);
    const int y = line.y + direction * tap_y;
    const int x = line.x + direction * tap_x;
    const int pixel = line.pixel + direction * (tap_y * image.width + tap_x);
    const bool inside = depth < k &&
                        static_cast<unsigned>(y) < static_cast<unsigned>(image.height) &&
                        static_cast<unsigned>(x) < static_cast<unsigned>(image.width);
    return {data + static_cast<std::int64_t>(pixel) * image.channels + channel,
            inside ? static_cast<int>(kVectorBytes / sizeof(T)) : 0};
  }
};

/// Calls `f` with the tile's element type and unit for operands of that type.
template <class F>
void dispatch_unit(DType dtype, MathMode math, F&& f) {
  dispatch_float(dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    if constexpr (sizeof(T) == 2) {
      f(TypeTag<T>{}, std::integral_constant<Unit, Unit::tensor>{});
    } else if constexpr (std::is_same_v<T, float>) {
      if (math == MathMode::tf32) {
        f(TypeTag<T>{}, std::integral_constant<Unit, Unit::tensor>{});
      } else {
        f(TypeTag<T>{}, std::integral_constant<Unit, Unit::scalar>{});
      }
    } else {
      f(TypeTag<T>{}, std::integral_constant<Unit, Unit::scalar>{});
    }
  });
}

}  // namespace trainbench::gpu
