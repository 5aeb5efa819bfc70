#pragma once

#include <string>

#include "common/nn/layer.h"
#include "common/nn/parameters.h"

namespace trainbench {

/// hidden[t, b, h] of an LSTM (Hochreiter and Schmidhuber 1997, with the forget gate of Gers,
/// Schmidhuber and Cummins 2000) over x[t, b, in], from state zero, one bias a gate.
class Lstm {
 public:
  /// Weights and biases start uniform in +-1/sqrt(units).
  Lstm(ParameterLayout& layout, const std::string& name, std::int64_t in, std::int64_t units);

  void allocate(Backend& backend, const Extent& extent, std::int64_t steps);

  /// Keeps a view of x for the backward pass.
  Tensor forward(const Pass& pass, const Parameters& parameters, ConstTensor x);
  /// From output_gradient(), which is changed, to the parameters' gradients and to dx[t, b, in].
  void backward(const Pass& pass, const Parameters& parameters, Tensor dx);

  Tensor output() const { return trace_.hidden; }
  Tensor output_gradient() const { return output_gradient_; }

 private:
  void separate_forward(const Pass& pass, ConstTensor recurrent) const;
  void separate_backward(const Pass& pass, ConstTensor recurrent) const;

  std::int64_t units_;
  std::size_t weight_;     // [4h, in]
  std::size_t recurrent_;  // [4h, h]
  std::size_t bias_;       // [4h]

  ConstTensor input_;
  LstmTrace trace_;
  Tensor output_gradient_;  // [t, b, h]
  Tensor gate_gradient_;    // [t, b, 4h]
  Tensor cell_gradient_;    // [b, h], of the separate passes
};

}  // namespace trainbench
