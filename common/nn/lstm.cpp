#include "common/nn/lstm.h"

#include <cmath>

namespace trainbench {
namespace {

/// [t, b, n] as [t b, n].
template <class View>
View rows_of(const View& steps) {
  return steps.reshaped(Shape{steps.shape[0] * steps.shape[1], steps.shape[2]});
}

/// Steps first, first + 1, ... of [t, b, n] as [count b, n].
template <class View>
View steps_of(const View& steps, std::int64_t first, std::int64_t count) {
  const std::int64_t batch = steps.shape[1];
  const std::int64_t columns = steps.shape[2];
  return steps.range(first * batch * columns, count * batch * columns)
      .reshaped(Shape{count * batch, columns});
}

}  // namespace

Lstm::Lstm(ParameterLayout& layout, const std::string& name, std::int64_t in, std::int64_t units)
    : units_(units) {
  const auto initial = Initial::uniform(1.0 / std::sqrt(static_cast<double>(units)));
  weight_ = layout.add(name + ".weight", Shape{4 * units, in}, initial);
  recurrent_ = layout.add(name + ".recurrent", Shape{4 * units, units}, initial);
  bias_ = layout.add(name + ".bias", Shape{4 * units}, initial);
}

void Lstm::allocate(Backend& backend, const Extent& extent, std::int64_t steps) {
  const auto of = [&](std::int64_t columns, DType dtype) {
    return backend.allocate(Shape{steps, extent.batch, columns}, dtype, MemoryKind::activations);
  };
  trace_ = {.gates = of(4 * units_, extent.compute),
            .cells = of(units_, extent.master),
            .hidden = of(units_, extent.compute)};
  if (!extent.training) return;
  output_gradient_ = of(units_, extent.compute);
  gate_gradient_ = of(4 * units_, extent.compute);
  cell_gradient_ =
      backend.allocate(Shape{extent.batch, units_}, extent.master, MemoryKind::workspace);
}

Tensor Lstm::forward(const Pass& pass, const Parameters& parameters, ConstTensor x) {
  input_ = x;
  const MatmulForm form{.transpose_b = true, .math = pass.math};
  const ConstTensor weight = parameters.weight(weight_);
  const ConstTensor bias = parameters.weight(bias_);
  const ConstTensor recurrent = parameters.weight(recurrent_);
  if (pass.fused) {
    pass.backend.matmul(form, rows_of(x), weight, rows_of(trace_.gates), {.bias = bias});
    pass.backend.lstm(trace_.gates, recurrent, trace_, pass.math);
    return trace_.hidden;
  }
  pass.backend.matmul(form, rows_of(x), weight, rows_of(trace_.gates));
  pass.backend.add_bias(rows_of(trace_.gates), bias);
  separate_forward(pass, recurrent);
  return trace_.hidden;
}

void Lstm::separate_forward(const Pass& pass, ConstTensor recurrent) const {
  const MatmulForm form{.transpose_b = true, .accumulate = true, .math = pass.math};
  for (std::int64_t t = 0; t < trace_.gates.shape[0]; ++t) {
    const Tensor gates = steps_of(trace_.gates, t, 1);
    ConstTensor previous;
    if (t > 0) {
      pass.backend.matmul(form, steps_of(trace_.hidden, t - 1, 1), recurrent, gates);
      previous = steps_of(trace_.cells, t - 1, 1);
    }
    pass.backend.lstm_cell(gates, previous, steps_of(trace_.cells, t, 1),
                           steps_of(trace_.hidden, t, 1));
  }
}

void Lstm::backward(const Pass& pass, const Parameters& parameters, Tensor dx) {
  const ConstTensor recurrent = parameters.weight(recurrent_);
  if (pass.fused) {
    pass.backend.lstm_backward(recurrent, trace_, output_gradient_, gate_gradient_, pass.math);
  } else {
    separate_backward(pass, recurrent);
  }

  const MatmulForm weight_form{.transpose_a = true, .math = pass.math};
  const ConstTensor slopes = rows_of(gate_gradient_);
  const Tensor bias_gradient = parameters.gradient(bias_);
  if (pass.fused) {
    pass.backend.matmul(weight_form, slopes, rows_of(input_), parameters.gradient(weight_),
                        {.bias_gradient = bias_gradient});
  } else {
    pass.backend.matmul(weight_form, slopes, rows_of(input_), parameters.gradient(weight_));
    pass.backend.bias_gradient(slopes, bias_gradient);
  }
  // A step's gates saw the output of the step before; the first one's saw zeros.
  const std::int64_t later = trace_.hidden.shape[0] - 1;
  if (later > 0) {
    pass.backend.matmul(weight_form, steps_of(gate_gradient_, 1, later),
                        steps_of(trace_.hidden, 0, later), parameters.gradient(recurrent_));
  } else {
    pass.backend.fill_zero(parameters.gradient(recurrent_));
  }
  pass.backend.matmul({.math = pass.math}, slopes, parameters.weight(weight_), rows_of(dx));
}

void Lstm::separate_backward(const Pass& pass, ConstTensor recurrent) const {
  const MatmulForm form{.accumulate = true, .math = pass.math};
  const std::int64_t steps = trace_.gates.shape[0];
  pass.backend.fill_zero(cell_gradient_);
  for (std::int64_t t = steps - 1; t >= 0; --t) {
    const Tensor above = steps_of(output_gradient_, t, 1);
    if (t + 1 < steps) {
      pass.backend.matmul(form, steps_of(gate_gradient_, t + 1, 1), recurrent, above);
    }
    const ConstTensor previous =
        t > 0 ? ConstTensor(steps_of(trace_.cells, t - 1, 1)) : ConstTensor();
    pass.backend.lstm_cell_backward(steps_of(trace_.gates, t, 1), previous,
                                    steps_of(trace_.cells, t, 1), above, cell_gradient_,
                                    steps_of(gate_gradient_, t, 1));
  }
}

}  // namespace trainbench
