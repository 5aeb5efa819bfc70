#include "common/nn/embedding.h"

namespace trainbench {

Embedding::Embedding(ParameterLayout& layout, const std::string& name, const EmbeddingShape& shape,
                     const Initial& initial)
    : shape_(shape) {
  table_ = layout.add(name + ".weight", Shape{shape.entries, shape.columns}, initial);
  if (shape.steps > 0) {
    positions_ = layout.add(name + ".positions", Shape{shape.steps, shape.columns}, initial);
  }
}

void Embedding::allocate(Backend& backend, const Extent& extent) {
  output_ = backend.allocate(Shape{extent.batch, shape_.columns}, extent.compute,
                             MemoryKind::activations);
}

Tensor Embedding::forward(const Pass& pass, const Parameters& parameters, ConstTensor tokens) {
  tokens_ = tokens;
  const ConstTensor positions = shape_.steps > 0 ? parameters.weight(positions_) : ConstTensor();
  pass.backend.embedding(tokens, parameters.weight(table_), positions, output_);
  return output_;
}

void Embedding::backward(const Pass& pass, const Parameters& parameters, ConstTensor dy,
                         bool accumulate) {
  const Tensor dpositions = shape_.steps > 0 ? parameters.gradient(positions_) : Tensor();
  pass.backend.embedding_backward(tokens_, dy, accumulate, parameters.gradient(table_), dpositions);
}

}  // namespace trainbench
