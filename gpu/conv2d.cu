#include <limits>

#include "gpu/conv2d.cuh"
#include "gpu/cuda_backend_impl.h"

namespace trainbench::gpu {
namespace {

/// Checks the operands. Kernels count rows of products, elements of one image and weights in ints.
Convolution convolution_of(const Window& window, const ConstTensor& x, const ConstTensor& weights,
                           const ConstTensor& y, MathMode math) {
  const Convolution convolution{window, convolution_size(window, x, weights, y), math};
  const ConvolutionSize& size = convolution.size;
  constexpr std::int64_t kMost = std::numeric_limits<int>::max() / 2;
  const std::int64_t pixels = std::max(size.pixels(), size.batch * size.height * size.width);
  const std::int64_t image = std::max(size.height * size.width * size.channels,
                                      size.out_height * size.out_width * size.filters);
  if (pixels > kMost || image > kMost || size.patch() * size.filters > kMost) {
    throw Unsupported("our convolution takes up to 2^30 pixels, elements of an image, and weights");
  }
  return convolution;
}

}  // namespace

const Queue& CudaBackend::own(const char* pass, const Convolution& convolution, DType dtype) {
  std::string name = convolution_name(pass, convolution.window, convolution.size, dtype);
  if (convolution.math == MathMode::tf32) name += " tf32";
  own_convolutions_.insert(std::move(name));
  return queue_;
}

void CudaBackend::conv2d(const Window& window, ConstTensor x, ConstTensor weights, ConstTensor bias,
                         Tensor y, MathMode math) {
  const Convolution convolution = convolution_of(window, x, weights, y, math);
  const ConvolutionSize& size = convolution.size;
  require(weights.dtype == x.dtype && (bias.absent() || bias.dtype == x.dtype),
          "a convolution's weights and bias have its images' dtype");
  require(bias.absent() || bias.shape == Shape({size.filters}) ||
              bias.shape == Shape({size.batch, size.filters}),
          "a convolution's bias is [f], or [b, f]");
  convolve(own("conv2d", convolution, x.dtype), convolution, x, weights, bias, y);
}

void CudaBackend::conv2d_data_gradient(const Window& window, ConstTensor dy, ConstTensor weights,
                                       Tensor dx, bool accumulate, MathMode math) {
  const Convolution convolution = convolution_of(window, dx, weights, dy, math);
  require(weights.dtype == dy.dtype, "a convolution's weights have its images' dtype");
  convolve_data_gradient(own("conv2d_data_gradient", convolution, dy.dtype), convolution, dy,
                         weights, dx, accumulate);
}

void CudaBackend::conv2d_weight_gradient(const Window& window, ConstTensor x, ConstTensor dy,
                                         Tensor dw, Tensor db, MathMode math) {
  const Convolution convolution = convolution_of(window, x, dw, dy, math);
  require(dw.dtype == accumulator_of(x.dtype), "a weight gradient has the master dtype");
  convolve_weight_gradient(own("conv2d_weight_gradient", convolution, x.dtype), convolution, x, dy,
                           dw);
  if (db.absent()) return;
  const std::int64_t filters = convolution.size.filters;
  column_sums(queue_, dy.reshaped(Shape{convolution.size.pixels(), filters}), db);
}

}  // namespace trainbench::gpu
