#include "common/models/gpt.h"

#include <cmath>

#include "common/models/workload.h"
#include "common/nn/cross_entropy.h"

namespace trainbench {
namespace {

/// GPT-2's: weights of deviation 0.02, those that write to the residual stream less, by the root of
/// their number; biases zero.
constexpr double kDeviation = 0.02;

Initial weights() { return Initial::normal(kDeviation); }
Initial residual_weights(std::int64_t layers) {
  return Initial::normal(kDeviation / std::sqrt(2.0 * static_cast<double>(layers)));
}
Initial biases() { return Initial::constant(0); }

}  // namespace

Gpt::Sizes Gpt::read(const Workload& workload, const ModelSizes& sizes) {
  const SizeReader reader(workload, sizes);
  const Sizes own{.layers = reader.get("layers", 256),
                  .heads = reader.get("heads", 256),
                  .width = reader.get("width", 1 << 16),
                  .sequence = reader.get("sequence", 1 << 16),
                  .vocabulary = reader.get("vocabulary")};
  if (own.width % own.heads != 0) {
    throw InputError("size \"width\" of " + std::string(workload.name) + " is " +
                     std::to_string(own.width) + "; it must be a multiple of \"heads\", which is " +
                     std::to_string(own.heads));
  }
  return own;
}

Gpt::Block::Block(ParameterLayout& layout, const std::string& name, const Sizes& sizes)
    : attention_norm(layout, name + ".attention_norm", sizes.width),
      qkv(layout, name + ".qkv", sizes.width, 3 * sizes.width, Activation::none,
          {weights(), biases()}),
      attention(
          {.steps = sizes.sequence, .heads = sizes.heads, .columns = sizes.width, .causal = true}),
      projection(layout, name + ".projection", sizes.width, sizes.width, Activation::none,
                 {residual_weights(sizes.layers), biases()}),
      perceptron_norm(layout, name + ".perceptron_norm", sizes.width),
      expansion(layout, name + ".expansion", sizes.width, 4 * sizes.width, Activation::gelu,
                {weights(), biases()}),
      contraction(layout, name + ".contraction", 4 * sizes.width, sizes.width, Activation::none,
                  {residual_weights(sizes.layers), biases()}) {}

Gpt::Gpt(const Workload& workload, const ModelSizes& sizes)
    : sizes_(read(workload, sizes)),
      embedding_(layout_, "embedding",
                 {.entries = sizes_.vocabulary, .columns = sizes_.width, .steps = sizes_.sequence},
                 weights()),
      blocks_([&] {
        std::vector<Block> blocks;
        for (std::int64_t i = 1; i <= sizes_.layers; ++i) {
          blocks.emplace_back(layout_, "block" + std::to_string(i), sizes_);
        }
        return blocks;
      }()),
      norm_(layout_, "norm", sizes_.width) {}

void Gpt::allocate(Backend& backend, const Extent& extent) {
  const Shape samples{extent.batch, sizes_.sequence};
  Extent rows = extent;
  rows.batch = samples.elements();
  const auto rows_of = [&](std::int64_t columns) {
    return backend.allocate(Shape{rows.batch, columns}, extent.compute, MemoryKind::activations);
  };
  tokens_ = backend.allocate(samples, DType::i32, MemoryKind::activations);
  targets_ = backend.allocate(samples, DType::i32, MemoryKind::activations);
  if (extent.training) {
    gradients_ = {.stream = rows_of(sizes_.width),
                  .branch = rows_of(sizes_.width),
                  .attention = rows_of(sizes_.width),
                  .qkv = rows_of(3 * sizes_.width),
                  .hidden = rows_of(4 * sizes_.width),
                  .logits = rows_of(sizes_.vocabulary)};
  }
  embedding_.allocate(backend, rows);
  for (Block& block : blocks_) {
    block.attention_norm.allocate(backend, rows);
    block.qkv.allocate(backend, rows, gradients_.qkv);
    block.attention.allocate(backend, rows);
    block.projection.allocate(backend, rows, gradients_.stream);
    block.perceptron_norm.allocate(backend, rows);
    block.expansion.allocate(backend, rows, gradients_.hidden);
    block.contraction.allocate(backend, rows, gradients_.stream);
  }
  norm_.allocate(backend, rows);
  logits_ = rows_of(sizes_.vocabulary);
  losses_ = backend.allocate(Shape{rows.batch}, extent.master, MemoryKind::activations);
}

// A branch's output becomes the stream when the next norm adds the stream before it: every norm has
// its input to itself, which its backward pass reads, and no pass is there for the sum alone.
void Gpt::forward(const Pass& pass, const Parameters& parameters, const Batch& batch) {
  pass.backend.shift_tokens(batch.samples, false, tokens_, targets_);
  Tensor stream = embedding_.forward(pass, parameters, tokens_);
  ConstTensor before;
  for (Block& block : blocks_) {
    Tensor x = block.attention_norm.forward(pass, parameters, stream, before);
    x = block.attention.forward(pass, block.qkv.forward(pass, parameters, x));
    const Tensor attended = block.projection.forward(pass, parameters, x);
    x = block.perceptron_norm.forward(pass, parameters, attended, stream);
    x = block.expansion.forward(pass, parameters, x);
    before = attended;
    stream = block.contraction.forward(pass, parameters, x);
  }
  head_input_ = norm_.forward(pass, parameters, stream, before);
  pass.backend.matmul({.transpose_b = true, .math = pass.math}, head_input_,
                      parameters.weight(embedding_.table()), logits_);
}

void Gpt::loss(const Pass& pass, const Batch&, ConstTensor state) {
  cross_entropy(pass, logits_, targets_.reshaped(losses_.shape), losses_, gradients_.logits, state);
}

void Gpt::backward(const Pass& pass, const Parameters& parameters) {
  const std::size_t table = embedding_.table();
  pass.backend.matmul({.transpose_a = true, .math = pass.math}, gradients_.logits, head_input_,
                      parameters.gradient(table));
  pass.backend.matmul({.math = pass.math}, gradients_.logits, parameters.weight(table),
                      gradients_.branch);
  norm_.backward(pass, parameters, gradients_.branch, {}, gradients_.stream, {});
  for (std::size_t i = blocks_.size(); i-- > 0;) backward(pass, parameters, blocks_[i]);
  embedding_.backward(pass, parameters, gradients_.stream, true);
}

void Gpt::backward(const Pass& pass, const Parameters& parameters, Block& block) {
  const Gradients& g = gradients_;
  block.contraction.backward(pass, parameters, g.stream, g.hidden, block.expansion.saved());
  block.expansion.backward(pass, parameters, g.hidden, g.branch, {});
  block.perceptron_norm.backward(pass, parameters, g.branch, g.stream, g.stream, g.attention);
  block.projection.backward(pass, parameters, g.stream, g.attention, {});
  block.attention.backward(pass, g.attention, g.qkv);
  block.qkv.backward(pass, parameters, g.qkv, g.branch, {});
  block.attention_norm.backward(pass, parameters, g.branch, g.stream, g.stream, g.attention);
}

}  // namespace trainbench
