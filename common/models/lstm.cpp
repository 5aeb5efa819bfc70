#include "common/models/lstm.h"

#include "common/models/workload.h"
#include "common/nn/cross_entropy.h"

namespace trainbench {
namespace {

/// [t, b, n] as [t b, n].
Tensor rows_of(const Tensor& steps) {
  return steps.reshaped(Shape{steps.shape[0] * steps.shape[1], steps.shape[2]});
}

std::vector<Lstm> make_layers(ParameterLayout& layout, const SizeReader& sizes, std::int64_t in) {
  const std::int64_t units = sizes.get("hidden");
  const std::int64_t count = sizes.get("layers", 64);
  std::vector<Lstm> layers;
  for (std::int64_t i = 1; i <= count; ++i) {
    layers.emplace_back(layout, "lstm" + std::to_string(i), i == 1 ? in : units, units);
  }
  return layers;
}

}  // namespace

LstmModel::LstmModel(const Workload& workload, const ModelSizes& sizes)
    : vocabulary_(SizeReader(workload, sizes).get("vocabulary")),
      columns_(SizeReader(workload, sizes).get("embedding")),
      steps_(SizeReader(workload, sizes).get("sequence", 1 << 16)),
      table_(layout_.add("embedding", Shape{vocabulary_, columns_}, Initial::normal(1))),
      layers_(make_layers(layout_, SizeReader(workload, sizes), columns_)),
      head_(layout_, "head", SizeReader(workload, sizes).get("hidden"), vocabulary_,
            Activation::none) {}

void LstmModel::allocate(Backend& backend, const Extent& extent) {
  const std::int64_t rows = steps_ * extent.batch;
  const auto allocate = [&](Shape shape, DType dtype) {
    return backend.allocate(shape, dtype, MemoryKind::activations);
  };
  inputs_ = allocate(Shape{steps_, extent.batch}, DType::i32);
  targets_ = allocate(Shape{steps_, extent.batch}, DType::i32);
  embedded_ = allocate(Shape{steps_, extent.batch, columns_}, extent.compute);
  if (extent.training) embedded_gradient_ = allocate(embedded_.shape, extent.compute);
  for (Lstm& layer : layers_) layer.allocate(backend, extent, steps_);
  Extent tokens = extent;
  tokens.batch = rows;
  head_.allocate(backend, tokens);
  losses_ = allocate(Shape{rows}, extent.master);
}

void LstmModel::forward(const Pass& pass, const Parameters& parameters, const Batch& batch) {
  pass.backend.shift_tokens(batch.samples, true, inputs_, targets_);
  pass.backend.embedding(inputs_, parameters.weight(table_), {}, rows_of(embedded_));
  ConstTensor x = embedded_;
  for (Lstm& layer : layers_) x = layer.forward(pass, parameters, x);
  head_.forward(pass, parameters, rows_of(layers_.back().output()));
}

void LstmModel::loss(const Pass& pass, const Batch&, ConstTensor state) {
  cross_entropy(pass, logits(), targets_.reshaped(losses_.shape), losses_, head_.output_gradient(),
                state);
}

void LstmModel::backward(const Pass& pass, const Parameters& parameters) {
  head_.backward(pass, parameters, head_.output_gradient(),
                 rows_of(layers_.back().output_gradient()), {});
  for (std::size_t i = layers_.size(); i-- > 0;) {
    layers_[i].backward(pass, parameters,
                        i == 0 ? embedded_gradient_ : layers_[i - 1].output_gradient());
  }
  pass.backend.embedding_backward(inputs_, rows_of(embedded_gradient_), false,
                                  parameters.gradient(table_), {});
}

}  // namespace trainbench
