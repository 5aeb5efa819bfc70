#include "common/cost/cost_backend.h"
#include "common/cost/operand_bytes.h"

namespace trainbench {

void CostBackend::layer_norm(double, Tensor x, ConstTensor residual, const NormWeights& weights,
                             Tensor mean, Tensor inverse, Tensor y) {
  const double sum = residual.absent() ? 0 : bytes_of(residual) + bytes_of(x);
  add_traffic("layer_norm", bytes_of(x) + sum + bytes_of(weights.gamma) + bytes_of(weights.beta) +
                                bytes_of(mean) + bytes_of(inverse) + bytes_of(y));
}

void CostBackend::layer_norm_backward(ConstTensor x, ConstTensor dy, ConstTensor gamma,
                                      ConstTensor mean, ConstTensor inverse, ConstTensor dresidual,
                                      Tensor dx, const NormGradients& gradients) {
  add_traffic("layer_norm_backward", bytes_of(x) + bytes_of(dy) + bytes_of(gamma) + bytes_of(mean) +
                                         bytes_of(inverse) + bytes_of(dresidual) + bytes_of(dx) +
                                         bytes_of(gradients.gamma) + bytes_of(gradients.beta));
}

}  // namespace trainbench
