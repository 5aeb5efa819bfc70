#pragma once

#include <cstdint>
#include <string>

#include "common/backend.h"

namespace trainbench {

/// Extents of a convolution, whichever of its three passes is meant.
struct ConvolutionSize {
  std::int64_t batch = 0;
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::int64_t out_height = 0;
  std::int64_t out_width = 0;
  std::int64_t filters = 0;
  std::int64_t kernel = 0;

  /// Pixels of all outputs: the rows of the product that a convolution is.
  std::int64_t pixels() const { return batch * out_height * out_width; }
  /// Inputs of one output: what that product sums over.
  std::int64_t patch() const { return kernel * kernel * channels; }
};

/// The extents of x[b, h, w, c], weights[f, kernel, kernel, c] and y[b, oh, ow, f], or of their
/// gradients; shapes that do not fit each other are a broken precondition.
inline ConvolutionSize convolution_size(const Window& window, const ConstTensor& x,
                                        const ConstTensor& weights, const ConstTensor& y) {
  require(x.shape.rank() == 4 && weights.shape.rank() == 4 && y.shape.rank() == 4,
          "a convolution's operands have four extents");
  const ConvolutionSize size{.batch = x.shape[0],
                             .height = x.shape[1],
                             .width = x.shape[2],
                             .channels = x.shape[3],
                             .out_height = window.outputs(x.shape[1]),
                             .out_width = window.outputs(x.shape[2]),
                             .filters = weights.shape[0],
                             .kernel = window.kernel};
  require(weights.shape == Shape({size.filters, size.kernel, size.kernel, size.channels}),
          "a convolution's weights are [f, kernel, kernel, c]");
  require(size.out_height > 0 && size.out_width > 0 &&
              y.shape == Shape({size.batch, size.out_height, size.out_width, size.filters}),
          "a convolution's output is [b, oh, ow, f]");
  require(x.dtype == y.dtype, "a convolution's images have one dtype");
  return size;
}

/// The convolution as reports name it: "conv2d 8x56x56x64->64 3x3/1 f32"; `operation` is the pass.
inline std::string convolution_name(const std::string& operation, const Window& window,
                                    const ConvolutionSize& size, DType dtype) {
  const auto text = [](std::int64_t number) { return std::to_string(number); };
  return operation + " " + text(size.batch) + "x" + text(size.height) + "x" + text(size.width) +
         "x" + text(size.channels) + "->" + text(size.filters) + " " + text(window.kernel) + "x" +
         text(window.kernel) + "/" + text(window.stride) + " " + std::string(name_of(dtype));
}

}  // namespace trainbench
