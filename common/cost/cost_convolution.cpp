#include "common/convolution_size.h"
#include "common/cost/cost_backend.h"
#include "common/cost/operand_bytes.h"

namespace trainbench {
namespace {

/// Of any of the three passes, by the direct algorithm; places in the padding count as others do.
double flops_of(const ConvolutionSize& size) {
  return 2.0 * static_cast<double>(size.pixels()) * static_cast<double>(size.patch()) *
         static_cast<double>(size.filters);
}

}  // namespace

void CostBackend::conv2d(const Window& window, ConstTensor x, ConstTensor weights, ConstTensor bias,
                         Tensor y, MathMode) {
  const ConvolutionSize size = convolution_size(window, x, weights, y);
  count(convolution_name("conv2d", window, size, x.dtype), 1,
        {flops_of(size), bytes_of(x) + bytes_of(weights) + bytes_of(bias) + bytes_of(y)});
}

void CostBackend::conv2d_data_gradient(const Window& window, ConstTensor dy, ConstTensor weights,
                                       Tensor dx, bool accumulate, MathMode) {
  const ConvolutionSize size = convolution_size(window, dx, weights, dy);
  count(convolution_name("conv2d_data_gradient", window, size, dx.dtype), 1,
        {flops_of(size), bytes_of(dy) + bytes_of(weights) + bytes_of(dx) * (accumulate ? 2 : 1)});
}

void CostBackend::conv2d_weight_gradient(const Window& window, ConstTensor x, ConstTensor dy,
                                         Tensor dw, Tensor db, MathMode) {
  const ConvolutionSize size = convolution_size(window, x, dw, dy);
  count(convolution_name("conv2d_weight_gradient", window, size, x.dtype), 1,
        {flops_of(size), bytes_of(x) + bytes_of(dy) + bytes_of(dw) + bytes_of(db)});
}

void CostBackend::max_pool(const Window&, ConstTensor x, Tensor y, Tensor chosen) {
  add_traffic("max_pool", bytes_of(x) + bytes_of(y) + bytes_of(chosen));
}

void CostBackend::max_pool_backward(const Window&, ConstTensor chosen, ConstTensor dy, Tensor dx) {
  add_traffic("max_pool_backward", bytes_of(chosen) + bytes_of(dy) + bytes_of(dx));
}

void CostBackend::average_pool(ConstTensor x, Tensor y) {
  add_traffic("average_pool", bytes_of(x) + bytes_of(y));
}

void CostBackend::average_pool_backward(ConstTensor dy, Tensor dx) {
  add_traffic("average_pool_backward", bytes_of(dy) + bytes_of(dx));
}

}  // namespace trainbench
