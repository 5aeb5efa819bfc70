#include "common/cost/cost_backend.h"
#include "common/cost/operand_bytes.h"

namespace trainbench {

void CostBackend::batch_norm(const BatchNormOptions&, ConstTensor x, const NormWeights& weights,
                             ConstTensor residual, const BatchNormState& state, Tensor y) {
  add_traffic("batch_norm", bytes_of(x) + bytes_of(weights.gamma) + bytes_of(weights.beta) +
                                bytes_of(residual) + bytes_of(state.mean) +
                                bytes_of(state.inverse) + 2 * bytes_of(state.running_mean) +
                                2 * bytes_of(state.running_variance) + bytes_of(y));
}

void CostBackend::batch_norm_evaluate(const BatchNormOptions&, ConstTensor x,
                                      const NormWeights& weights, ConstTensor residual,
                                      const BatchNormState& state, Tensor y) {
  add_traffic("batch_norm_evaluate",
              bytes_of(x) + bytes_of(weights.gamma) + bytes_of(weights.beta) + bytes_of(residual) +
                  bytes_of(state.running_mean) + bytes_of(state.running_variance) + bytes_of(y));
}

void CostBackend::batch_norm_backward(const BatchNormOptions& options, ConstTensor x, ConstTensor y,
                                      ConstTensor dy, ConstTensor gamma,
                                      const BatchNormState& state, Tensor dx, Tensor dresidual,
                                      const NormGradients& gradients) {
  const double output = options.activation == Activation::none ? 0 : bytes_of(y);
  add_traffic("batch_norm_backward", bytes_of(x) + output + bytes_of(dy) + bytes_of(gamma) +
                                         bytes_of(state.mean) + bytes_of(state.inverse) +
                                         bytes_of(dx) + bytes_of(dresidual) +
                                         bytes_of(gradients.gamma) + bytes_of(gradients.beta));
}

}  // namespace trainbench
