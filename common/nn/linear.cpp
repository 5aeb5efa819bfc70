#include "common/nn/linear.h"

#include <cmath>

namespace trainbench {

LinearInitial LinearInitial::by_inputs(std::int64_t in) {
  const auto initial = Initial::uniform(1.0 / std::sqrt(static_cast<double>(in)));
  return {initial, initial};
}

Linear::Linear(ParameterLayout& layout, const std::string& name, std::int64_t in, std::int64_t out,
               Activation activation, const LinearInitial& initial)
    : out_(out), activation_(activation) {
  weight_ = layout.add(name + ".weight", Shape{out, in}, initial.weight);
  bias_ = layout.add(name + ".bias", Shape{out}, initial.bias);
}

void Linear::allocate(Backend& backend, const Extent& extent, Tensor output_gradient) {
  const Shape shape{extent.batch, out_};
  output_ = backend.allocate(shape, extent.compute, MemoryKind::activations);
  if (!extent.training) return;
  output_gradient_ = output_gradient.absent()
                         ? backend.allocate(shape, extent.compute, MemoryKind::activations)
                         : output_gradient;
  saved_ = backend.allocate_saved(activation_, extent.batch, out_, extent.compute);
}

Tensor Linear::forward(const Pass& pass, const Parameters& parameters, ConstTensor x) {
  input_ = x;
  const MatmulForm form{.transpose_b = true, .math = pass.math};
  const ConstTensor weight = parameters.weight(weight_);
  const ConstTensor bias = parameters.weight(bias_);
  if (pass.fused) {
    pass.backend.matmul(form, x, weight, output_,
                        {.bias = bias, .activation = activation_, .saved = saved_});
    return output_;
  }
  pass.backend.matmul(form, x, weight, output_);
  pass.backend.add_bias(output_, bias);
  if (activation_ != Activation::none) {
    pass.backend.activation_forward(activation_, output_, saved_);
  }
  return output_;
}

void Linear::backward(const Pass& pass, const Parameters& parameters, ConstTensor dz, Tensor dx,
                      const SavedActivation& below, bool accumulate) {
  const MatmulForm weight_form{.transpose_a = true, .math = pass.math};
  if (pass.fused) {
    pass.backend.matmul(weight_form, dz, input_, parameters.gradient(weight_),
                        {.bias_gradient = parameters.gradient(bias_)});
  } else {
    pass.backend.matmul(weight_form, dz, input_, parameters.gradient(weight_));
    pass.backend.bias_gradient(dz, parameters.gradient(bias_));
  }
  if (dx.absent()) return;

  const MatmulForm data_form{.accumulate = accumulate, .math = pass.math};
  const ConstTensor weight = parameters.weight(weight_);
  if (pass.fused) {
    pass.backend.matmul(data_form, dz, weight, dx,
                        {.gradient_of = below.activation, .gradient_saved = below.saved});
    return;
  }
  pass.backend.matmul(data_form, dz, weight, dx);
  if (below.activation != Activation::none) {
    pass.backend.activation_backward(below.activation, below.saved, dx);
  }
}

}  // namespace trainbench
