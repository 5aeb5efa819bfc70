#pragma once

#include <vector>

#include "common/models/model.h"
#include "common/nn/linear.h"

namespace trainbench {

struct Workload;

/// Multi-layer perceptron for classification: bytes -> hidden ReLU layers -> softmax cross-entropy.
class Mlp : public Model {
 public:
  /// Sizes: "inputs", "hidden", "layers" (the last one included), "classes".
  Mlp(const Workload& workload, const ModelSizes& sizes);

  const ParameterLayout& layout() const override { return layout_; }
  void allocate(Backend& backend, const Extent& extent) override;
  void forward(const Pass& pass, const Parameters& parameters, const Batch& batch) override;
  void loss(const Pass& pass, const Batch& batch, ConstTensor state) override;
  void backward(const Pass& pass, const Parameters& parameters) override;

  Tensor logits() const override { return layers_.back().output(); }
  Tensor losses() const override { return losses_; }

 private:
  ParameterLayout layout_;
  std::vector<Linear> layers_;
  std::int64_t inputs_;
  float input_scale_;
  float input_shift_;

  Tensor input_;
  Tensor losses_;
};

}  // namespace trainbench
