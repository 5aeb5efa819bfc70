#include "common/nn/layer_norm.h"

namespace trainbench {
namespace {

constexpr double kEpsilon = 1e-5;

}  // namespace

LayerNorm::LayerNorm(ParameterLayout& layout, const std::string& name, std::int64_t columns)
    : columns_(columns) {
  gamma_ = layout.add(name + ".weight", Shape{columns}, Initial::constant(1));
  beta_ = layout.add(name + ".bias", Shape{columns}, Initial::constant(0));
}

void LayerNorm::allocate(Backend& backend, const Extent& extent) {
  output_ =
      backend.allocate(Shape{extent.batch, columns_}, extent.compute, MemoryKind::activations);
  mean_ = backend.allocate(Shape{extent.batch}, extent.master, MemoryKind::activations);
  inverse_ = backend.allocate(Shape{extent.batch}, extent.master, MemoryKind::activations);
}

Tensor LayerNorm::forward(const Pass& pass, const Parameters& parameters, Tensor x,
                          ConstTensor residual) {
  input_ = x;
  if (!pass.fused && !residual.absent()) {
    pass.backend.add(x, residual, x);
    residual = {};
  }
  pass.backend.layer_norm(kEpsilon, x, residual,
                          {parameters.weight(gamma_), parameters.weight(beta_)}, mean_, inverse_,
                          output_);
  return output_;
}

void LayerNorm::backward(const Pass& pass, const Parameters& parameters, ConstTensor dy,
                         ConstTensor dresidual, Tensor dx, Tensor scratch) {
  const NormGradients gradients{parameters.gradient(gamma_), parameters.gradient(beta_)};
  const bool separate = !pass.fused && !dresidual.absent();
  pass.backend.layer_norm_backward(input_, dy, parameters.weight(gamma_), mean_, inverse_,
                                   separate ? ConstTensor() : dresidual, separate ? scratch : dx,
                                   gradients);
  if (separate) pass.backend.add(scratch, dresidual, dx);
}

}  // namespace trainbench
