#pragma once

#include <vector>

#include "common/models/model.h"
#include "common/nn/attention.h"
#include "common/nn/embedding.h"
#include "common/nn/layer_norm.h"
#include "common/nn/linear.h"

namespace trainbench {

struct Workload;

/// Decoder-only transformer language model, as GPT-2 is built (Radford et al., 2019): token and
/// position embeddings; blocks of causal self-attention and a GELU perceptron four times as wide,
/// each behind a layer norm and with a residual around it; a last norm; and a head that shares the
/// embedding's table. All linear layers but the head have biases. A sample is a sequence.
class Gpt : public Model {
 public:
  /// Sizes: "layers", "heads", "width", "sequence", "vocabulary".
  Gpt(const Workload& workload, const ModelSizes& sizes);

  const ParameterLayout& layout() const override { return layout_; }
  void allocate(Backend& backend, const Extent& extent) override;
  void forward(const Pass& pass, const Parameters& parameters, const Batch& batch) override;
  void loss(const Pass& pass, const Batch& batch, ConstTensor state) override;
  void backward(const Pass& pass, const Parameters& parameters) override;

  Tensor logits() const override { return logits_; }  ///< [b t, vocabulary]
  Tensor losses() const override { return losses_; }  ///< one a token

 private:
  struct Sizes {
    std::int64_t layers, heads, width, sequence, vocabulary;
  };
  struct Block {
    Block(ParameterLayout& layout, const std::string& name, const Sizes& sizes);

    LayerNorm attention_norm;
    Linear qkv;
    Attention attention;
    Linear projection;
    LayerNorm perceptron_norm;
    Linear expansion;
    Linear contraction;
  };
  /// Gradients that live no longer than a block's backward pass, shared by all blocks.
  struct Gradients {
    Tensor stream;     // [b t, width], of the sum of all branches so far
    Tensor branch;     // [b t, width], of what a norm made
    Tensor attention;  // [b t, width]
    Tensor qkv;        // [b t, 3 width]
    Tensor hidden;     // [b t, 4 width]
    Tensor logits;     // [b t, vocabulary]
  };

  static Sizes read(const Workload& workload, const ModelSizes& sizes);
  void backward(const Pass& pass, const Parameters& parameters, Block& block);

  ParameterLayout layout_;
  Sizes sizes_;
  Embedding embedding_;
  std::vector<Block> blocks_;
  LayerNorm norm_;

  Tensor tokens_;   // i32 [b, t]
  Tensor targets_;  // i32 [b, t]
  ConstTensor head_input_;
  Tensor logits_;
  Tensor losses_;
  Gradients gradients_;
};

}  // namespace trainbench
