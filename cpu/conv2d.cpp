#include "cpu/cpu_backend.h"
#include "cpu/epilogue.h"

namespace trainbench {
namespace {

/// A tensor that is only read, as calls hold it together with one that is written.
Tensor operand(const ConstTensor& tensor) {
  return {const_cast<void*>(tensor.data), tensor.shape, tensor.dtype};
}

void require_exact(MathMode math) {
  if (math == MathMode::tf32) {
    throw Unsupported("tf32 is a format of GPU tensor cores; the CPU has none");
  }
}

}  // namespace

void CpuBackend::conv2d(const Window& window, ConstTensor x, ConstTensor weights, ConstTensor bias,
                        Tensor y, MathMode math) {
  require_exact(math);
  const bool each_image = bias.shape.rank() == 2;
  convolutions_.run({.pass = ConvolutionPass::forward,
                     .window = window,
                     .x = operand(x),
                     .weights = operand(weights),
                     .y = y,
                     .bias = each_image ? Tensor() : operand(bias)});
  if (!each_image) return;
  const std::int64_t filters = y.shape[3];
  require(bias.shape == Shape({y.shape[0], filters}), "an image's own bias is [b, f]");
  const std::int64_t elements = y.elements() / y.shape[0];
  for (std::int64_t image = 0; image < y.shape[0]; ++image) {
    add_bias(y.range(image * elements, elements).reshaped(Shape{elements / filters, filters}),
             bias.range(image * filters, filters));
  }
}

void CpuBackend::conv2d_data_gradient(const Window& window, ConstTensor dy, ConstTensor weights,
                                      Tensor dx, bool accumulate, MathMode math) {
  require_exact(math);
  convolutions_.run({.pass = ConvolutionPass::data_gradient,
                     .window = window,
                     .x = dx,
                     .weights = operand(weights),
                     .y = operand(dy),
                     .accumulate = accumulate});
}

void CpuBackend::conv2d_weight_gradient(const Window& window, ConstTensor x, ConstTensor dy,
                                        Tensor dw, Tensor db, MathMode math) {
  require_exact(math);
  convolutions_.run({.pass = ConvolutionPass::weight_gradient,
                     .window = window,
                     .x = operand(x),
                     .weights = dw,
                     .y = operand(dy)});
  if (db.absent()) return;
  const std::int64_t filters = dy.shape[3];
  column_sums(threads_, dy.reshaped(Shape{dy.elements() / filters, filters}), db);
}

}  // namespace trainbench
