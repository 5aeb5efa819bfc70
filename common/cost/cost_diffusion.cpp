// Costs of the operations of a diffusion model besides its convolutions and products.

#include "common/cost/cost_backend.h"
#include "common/cost/operand_bytes.h"

namespace trainbench {

void CostBackend::add(ConstTensor a, ConstTensor b, Tensor y) {
  add_traffic("add", bytes_of(a) + bytes_of(b) + bytes_of(y));
}

void CostBackend::dropout(const DropoutOptions&, Tensor x, ConstTensor) {
  add_traffic("dropout", 2 * bytes_of(x));
}

void CostBackend::upsample(ConstTensor x, Tensor y) {
  add_traffic("upsample", bytes_of(x) + bytes_of(y));
}

void CostBackend::upsample_backward(ConstTensor dy, Tensor dx) {
  add_traffic("upsample_backward", bytes_of(dy) + bytes_of(dx));
}

void CostBackend::concat(ConstTensor a, ConstTensor b, Tensor y) {
  add_traffic("concat", bytes_of(a) + bytes_of(b) + bytes_of(y));
}

void CostBackend::split(ConstTensor y, Tensor a, Tensor b) {
  add_traffic("split", bytes_of(a) + bytes_of(b) + bytes_of(y));
}

void CostBackend::group_norm(const GroupNormOptions&, ConstTensor x, const NormWeights& weights,
                             Tensor mean, Tensor inverse, Tensor y) {
  add_traffic("group_norm", bytes_of(x) + bytes_of(weights.gamma) + bytes_of(weights.beta) +
                                bytes_of(mean) + bytes_of(inverse) + bytes_of(y));
}

void CostBackend::group_norm_backward(const GroupNormOptions& options, ConstTensor x,
                                      ConstTensor dy, const NormWeights& weights, ConstTensor mean,
                                      ConstTensor inverse, bool accumulate, Tensor dx,
                                      const NormGradients& gradients) {
  // Without an activation between, the bias has no part in it.
  const bool bias = options.activation != Activation::none;
  add_traffic("group_norm_backward", bytes_of(x) + bytes_of(dy) + bytes_of(weights.gamma) +
                                         (bias ? bytes_of(weights.beta) : 0) + bytes_of(mean) +
                                         bytes_of(inverse) + bytes_of(dx) * (accumulate ? 2 : 1) +
                                         bytes_of(gradients.gamma) + bytes_of(gradients.beta));
}

void CostBackend::mean_squared_error(ConstTensor prediction, ConstTensor target, Tensor losses,
                                     Tensor gradient, ConstTensor) {
  add_traffic("mean_squared_error",
              bytes_of(prediction) + bytes_of(target) + bytes_of(losses) + bytes_of(gradient));
}

/// The table of normal numbers, of which a batch may read any part, is left out.
void CostBackend::diffuse(ConstTensor bytes, float, float, const DiffusionTables&, ConstTensor,
                          Tensor noisy, Tensor noise, Tensor times) {
  add_traffic("diffuse", bytes_of(bytes) + bytes_of(noisy) + bytes_of(noise) + bytes_of(times));
}

}  // namespace trainbench
