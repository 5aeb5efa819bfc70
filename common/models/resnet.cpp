#include "common/models/resnet.h"

#include <algorithm>

#include "common/models/workload.h"
#include "common/nn/cross_entropy.h"

namespace trainbench {
namespace {

constexpr Window kPool{3, 2, 1};

}  // namespace

Resnet::Resnet(const ResnetDesign& design, const Workload& workload, const ModelSizes& sizes)
    : pool_(design.pool), input_scale_(workload.input_scale), input_shift_(workload.input_shift) {
  const SizeReader reader(workload, sizes);
  image_ = reader.get("image", 4096);
  channels_ = reader.get("channels", 4096);
  std::int64_t width = reader.get("width", 4096);
  stem_.emplace(layout_, "stem", channels_, width, design.stem, Activation::relu);
  std::int64_t in = width;
  for (std::size_t stage = 1; stage <= design.stages; ++stage, width *= 2) {
    const std::int64_t blocks = reader.get("blocks" + std::to_string(stage), 256);
    for (std::int64_t i = 1; i <= blocks; ++i) {
      const std::string name = "stage" + std::to_string(stage) + ".block" + std::to_string(i);
      blocks_.emplace_back(layout_, name, design.block, in, width, stage > 1 && i == 1 ? 2 : 1);
      in = design.block == ResnetBlock::Kind::basic ? width : 4 * width;
    }
  }
  classifier_.emplace(layout_, "classifier", in, reader.get("classes"), Activation::none);
}

void Resnet::allocate(Backend& backend, const Extent& extent) {
  const auto activations = [&](const Shape& shape, DType dtype) {
    return backend.allocate(shape, dtype, MemoryKind::activations);
  };
  input_ = activations(Shape{extent.batch, image_, image_, channels_}, extent.compute);
  stem_->allocate(backend, extent, image_, image_);
  if (pool_) {
    const Shape pooled{extent.batch, kPool.outputs(stem_->height()), kPool.outputs(stem_->width()),
                       stem_->channels()};
    pooled_ = activations(pooled, extent.compute);
    if (extent.training) chosen_ = activations(pooled, DType::u8);
  }
  std::int64_t largest = stem_->output().elements();
  Shape shape = stem_output().shape;
  for (ResnetBlock& block : blocks_) {
    block.allocate(backend, extent, shape[1], shape[2]);
    shape = block.output().shape;
    largest = std::max(largest, block.largest());
  }
  means_ = activations(Shape{extent.batch, shape[3]}, extent.compute);
  classifier_->allocate(backend, extent);
  losses_ = activations(Shape{extent.batch}, extent.master);
  if (!extent.training) return;
  mean_gradient_ = activations(means_.shape, extent.compute);
  buffers_.allocate(backend, largest, extent.compute);
}

void Resnet::forward(const Pass& pass, const Parameters& parameters, const Batch& batch) {
  pass.backend.normalize_bytes(batch.samples.reshaped(input_.shape), input_, input_scale_,
                               input_shift_);
  ConstTensor x = stem_->forward(pass, parameters, input_);
  if (pool_) {
    pass.backend.max_pool(kPool, x, pooled_, pass.training ? chosen_ : Tensor());
    x = pooled_;
  }
  for (ResnetBlock& block : blocks_) x = block.forward(pass, parameters, x);
  pass.backend.average_pool(x, means_);
  classifier_->forward(pass, parameters, means_);
}

void Resnet::loss(const Pass& pass, const Batch& batch, ConstTensor state) {
  cross_entropy(pass, logits(), batch.labels, losses_, classifier_->output_gradient(), state);
}

void Resnet::backward(const Pass& pass, const Parameters& parameters) {
  classifier_->backward(pass, parameters, classifier_->output_gradient(), mean_gradient_, {});
  pass.backend.average_pool_backward(mean_gradient_,
                                     buffers_.view(0, blocks_.back().output().shape));
  for (std::size_t i = blocks_.size(); i-- > 0;) blocks_[i].backward(pass, parameters, buffers_);
  if (pool_) {
    pass.backend.max_pool_backward(kPool, chosen_, buffers_.view(0, pooled_.shape),
                                   buffers_.view(2, stem_->output().shape));
    buffers_.swap(0, 2);
  }
  // The images need no gradient.
  stem_->backward(pass, parameters, buffers_.view(0, stem_->output().shape), {}, {});
}

}  // namespace trainbench
