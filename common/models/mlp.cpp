#include "common/models/mlp.h"

#include "common/models/workload.h"
#include "common/nn/cross_entropy.h"

namespace trainbench {

Mlp::Mlp(const Workload& workload, const ModelSizes& sizes)
    : input_scale_(workload.input_scale), input_shift_(workload.input_shift) {
  const SizeReader reader(workload, sizes);
  inputs_ = reader.get("inputs");
  const std::int64_t hidden = reader.get("hidden");
  const std::int64_t depth = reader.get("layers", 256);
  const std::int64_t classes = reader.get("classes");

  std::int64_t in = inputs_;
  for (std::int64_t i = 1; i <= depth; ++i) {
    const bool last = i == depth;
    layers_.emplace_back(layout_, "linear" + std::to_string(i), in, last ? classes : hidden,
                         last ? Activation::none : Activation::relu);
    in = hidden;
  }
}

void Mlp::allocate(Backend& backend, const Extent& extent) {
  input_ = backend.allocate(Shape{extent.batch, inputs_}, extent.compute, MemoryKind::activations);
  for (Linear& layer : layers_) layer.allocate(backend, extent);
  losses_ = backend.allocate(Shape{extent.batch}, extent.master, MemoryKind::activations);
}

void Mlp::forward(const Pass& pass, const Parameters& parameters, const Batch& batch) {
  pass.backend.normalize_bytes(batch.samples.reshaped(input_.shape), input_, input_scale_,
                               input_shift_);
  ConstTensor x = input_;
  for (Linear& layer : layers_) x = layer.forward(pass, parameters, x);
}

void Mlp::loss(const Pass& pass, const Batch& batch, ConstTensor state) {
  cross_entropy(pass, logits(), batch.labels, losses_, layers_.back().output_gradient(), state);
}

void Mlp::backward(const Pass& pass, const Parameters& parameters) {
  for (std::size_t i = layers_.size(); i-- > 0;) {
    // The images need no gradient: the first layer stops here.
    const Tensor below = i == 0 ? Tensor{} : layers_[i - 1].output_gradient();
    const SavedActivation activation = i == 0 ? SavedActivation{} : layers_[i - 1].saved();
    layers_[i].backward(pass, parameters, layers_[i].output_gradient(), below, activation);
  }
}

}  // namespace trainbench
