#include "common/models/language_model_plan.h"

namespace trainbench {
namespace {

/// Plays the operations of training one sequence on a backend that touches no data.
class SequencePlan {
 public:
  SequencePlan(const LanguageModel& model, const Precision& precision)
      : model_(model), precision_(precision) {}

  LanguageModelPlan run() {
    allocate_gradients();
    embedding();
    for (std::int64_t layer = 0; layer < model_.layers; ++layer) block();
    norm(false);
    head();
    LanguageModelPlan plan;
    plan.parameters = parameters_;
    plan.sequence = cost_.operations();
    cost_.reset();
    update();
    plan.update = cost_.operations();
    plan.memory = cost_.memory();
    return plan;
  }

 private:
  Tensor view(Shape shape) const { return {nullptr, shape, precision_.compute}; }
  Tensor gradient_view(Shape shape) const { return {nullptr, shape, precision_.master}; }
  Shape rows_of(std::int64_t columns) const { return {model_.sequence, columns}; }
  Tensor rows(std::int64_t columns) { return keep(rows_of(columns), precision_.compute); }
  Tensor keep(Shape shape, DType dtype) {
    return cost_.allocate(shape, dtype, MemoryKind::activations);
  }

  /// What all blocks share: gradients of the stream, a branch, attention, its inputs, a perceptron.
  void allocate_gradients() {
    for (int i = 0; i < 3; ++i) rows(model_.width);
    rows(model_.width + 2 * model_.key_value_width);
    for (int i = 0; i < (model_.gated ? 2 : 1); ++i) rows(model_.hidden);
  }

  /// x [rows, in] times a weight, and both gradients; the result is kept.
  void product(std::int64_t in, std::int64_t out, bool bias, bool parameters = true) {
    const Tensor x = view(rows_of(in));
    const Tensor weight = view({out, in});
    const Tensor y = rows(out);
    const Tensor dweight = gradient_view({out, in});
    const MatmulEpilogue sum_rows{.bias_gradient = bias ? gradient_view({out}) : Tensor()};
    cost_.matmul({.transpose_b = true}, x, weight, y,
                 {.bias = bias ? ConstTensor(view({out})) : ConstTensor()});
    cost_.matmul({}, y, weight, x, {});
    cost_.matmul({.transpose_a = true}, y, x, dweight, sum_rows);
    if (parameters) parameters_ += in * out + (bias ? out : 0);
  }

  /// Of the stream plus a branch; without biases it is one by the root of the mean square.
  void norm(bool with_residual) {
    const bool biases = !model_.gated;
    const Tensor x = view(rows_of(model_.width));
    const Tensor gain = view({model_.width});
    const Tensor bias = biases ? gain : Tensor();
    const Tensor statistic = keep({model_.sequence}, precision_.master);
    if (biases) keep({model_.sequence}, precision_.master);
    const Tensor y = rows(model_.width);
    const Tensor gradient = gradient_view({model_.width});
    cost_.layer_norm(1e-5, x, with_residual ? x : Tensor(), {gain, bias},
                     biases ? statistic : Tensor(), statistic, y);
    cost_.layer_norm_backward(x, y, gain, biases ? statistic : Tensor(), statistic,
                              with_residual ? x : Tensor(), x,
                              {gradient, biases ? gradient : Tensor()});
    parameters_ += model_.width * (biases ? 2 : 1);
  }

  void attention() {
    const Tensor y = rows(model_.width).reshaped({1, model_.sequence, model_.width});
    const Tensor qkv = view({1, model_.sequence, 3 * model_.width});
    const Tensor logsum = keep({1, model_.heads, model_.sequence}, DType::f32);
    const AttentionOptions options{.heads = model_.heads, .causal = true};
    cost_.attention(options, qkv, y, logsum, MathMode::exact);
    cost_.attention_backward(options, qkv, y, logsum, y, qkv, MathMode::exact);
  }

  void perceptron() {
    const bool biases = !model_.gated;
    const Tensor hidden = view(rows_of(model_.hidden));
    product(model_.width, model_.hidden, biases);
    if (model_.gated) product(model_.width, model_.hidden, false);
    const Tensor saved = rows(model_.hidden);
    if (model_.gated) {  // silu(gate) x up, and the gradients of both
      cost_.add(hidden, hidden, saved);
      cost_.add(hidden, hidden, hidden);
      cost_.add(hidden, hidden, hidden);
    }
    product(model_.hidden, model_.width, biases);
  }

  void block() {
    const std::int64_t qkv = model_.width + 2 * model_.key_value_width;
    norm(true);
    product(model_.width, qkv, !model_.gated);
    attention();
    product(model_.width, model_.width, !model_.gated);
    norm(true);
    perceptron();
  }

  void embedding() {
    const Tensor indices(nullptr, {model_.sequence}, DType::i32);
    const Shape table{model_.vocabulary, model_.width};
    const Shape places{model_.sequence, model_.width};
    const bool learned = model_.learned_positions;
    cost_.embedding(indices, view(table), learned ? view(places) : Tensor(), rows(model_.width));
    cost_.embedding_backward(indices, view(rows_of(model_.width)), true, gradient_view(table),
                             learned ? gradient_view(places) : Tensor());
    parameters_ += table.elements() + (learned ? places.elements() : 0);
  }

  void head() {
    product(model_.width, model_.vocabulary, false, !model_.tied);
    const Tensor logits = view(rows_of(model_.vocabulary));
    const Tensor losses = keep({model_.sequence}, precision_.master);
    const Tensor labels(nullptr, {model_.sequence}, DType::i32);
    cost_.softmax_cross_entropy(logits, labels, losses, rows(model_.vocabulary), {});
  }

  /// The flat buffers of all parameters, and one pass of the optimizer over them.
  void update() {
    const Shape flat{parameters_};
    const auto state = [&](MemoryKind kind) {
      return cost_.allocate(flat, precision_.master, kind);
    };
    const Tensor master = state(MemoryKind::parameters);
    Tensor weights;
    if (precision_.has_master_copy()) {
      weights = cost_.allocate(flat, precision_.compute, MemoryKind::parameters);
    }
    const Tensor gradient = state(MemoryKind::gradients);
    const Tensor first = state(MemoryKind::optimizer);
    const Tensor second = state(MemoryKind::optimizer);
    cost_.clip_gradients(gradient, 1, {});
    cost_.adamw({}, {master, weights, gradient}, first, second, {});
  }

  const LanguageModel& model_;
  const Precision& precision_;
  CostBackend cost_;
  std::int64_t parameters_ = 0;
};

}  // namespace

const std::vector<LanguageModel>& language_models() {
  static const std::vector<LanguageModel> table{
      {.name = "gpt3-175b",
       .source = "Brown et al., NeurIPS 2020, table 2.1",
       .layers = 96,
       .width = 12288,
       .heads = 96,
       .key_value_width = 12288,
       .hidden = 4 * 12288,
       .gated = false,
       .vocabulary = 50257,
       .sequence = 2048,
       .learned_positions = true,
       .tied = true,
       .batch_tokens = 3.2e6,
       .tokens = 300e9},
      {.name = "llama-70b",
       .source = "Touvron et al., Llama 2, arXiv 2307.09288",
       .layers = 80,
       .width = 8192,
       .heads = 64,
       .key_value_width = 1024,
       .hidden = 28672,
       .gated = true,
       .vocabulary = 32000,
       .sequence = 4096,
       .learned_positions = false,
       .tied = false,
       .batch_tokens = 4e6,
       .tokens = 2e12},
  };
  return table;
}

LanguageModelPlan plan_language_model(const LanguageModel& model, const Precision& precision) {
  return SequencePlan(model, precision).run();
}

}  // namespace trainbench
