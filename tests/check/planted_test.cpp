// A wrong element in any result of any operation fails the check, and nothing else does.

#include <gtest/gtest.h>

#include <string>

#include "common/check/check_backend.h"
#include "common/check/random_tensor.h"
#include "common/forwarding_backend.h"
#include "common/nn/trainer.h"
#include "cpu/cpu_backend.h"

namespace trainbench {
namespace {

/// Spoils one result of one operation after it ran.
class SpoilingBackend : public ForwardingBackend {
 public:
  using ForwardingBackend::ForwardingBackend;

  /// Every `stride`th element of it, from `first` on, gets wrong by a few hundredths; the first
  /// alone where there is no stride.
  void spoil(std::string target, std::int64_t first = 0, std::int64_t stride = 0) {
    target_ = std::move(target);
    first_ = first;
    stride_ = stride;
  }

  void copy(ConstTensor from, Tensor to) override {
    inner_.copy(from, to);
    maybe("copy", to);
  }
  void fill_zero(Tensor tensor) override {
    inner_.fill_zero(tensor);
    maybe("fill_zero", tensor);
  }
  void cast(ConstTensor from, Tensor to) override {
    inner_.cast(from, to);
    maybe("cast", to);
  }
  void normalize_bytes(ConstTensor from, Tensor to, float scale, float shift) override {
    inner_.normalize_bytes(from, to, scale, shift);
    maybe("normalize_bytes", to);
  }
  void matmul(const MatmulForm& form, ConstTensor a, ConstTensor b, Tensor c,
              const MatmulEpilogue& epilogue) override {
    inner_.matmul(form, a, b, c, epilogue);
    maybe("matmul", c);
    maybe("matmul.bias_gradient", epilogue.bias_gradient);
  }
  void add_bias(Tensor x, ConstTensor bias) override {
    inner_.add_bias(x, bias);
    maybe("add_bias", x);
  }
  void activation_forward(Activation activation, Tensor x, Tensor saved) override {
    inner_.activation_forward(activation, x, saved);
    maybe("activation_forward", x);
  }
  void activation_backward(Activation activation, ConstTensor saved, Tensor dx) override {
    inner_.activation_backward(activation, saved, dx);
    maybe("activation_backward", dx);
  }
  void bias_gradient(ConstTensor dy, Tensor db) override {
    inner_.bias_gradient(dy, db);
    maybe("bias_gradient", db);
  }
  void add(ConstTensor a, ConstTensor b, Tensor y) override {
    inner_.add(a, b, y);
    maybe("add", y);
  }
  void dropout(const DropoutOptions& options, Tensor x, ConstTensor state) override {
    inner_.dropout(options, x, state);
    maybe("dropout", x);
  }
  void upsample(ConstTensor x, Tensor y) override {
    inner_.upsample(x, y);
    maybe("upsample", y);
  }
  void upsample_backward(ConstTensor dy, Tensor dx) override {
    inner_.upsample_backward(dy, dx);
    maybe("upsample_backward", dx);
  }
  void concat(ConstTensor a, ConstTensor b, Tensor y) override {
    inner_.concat(a, b, y);
    maybe("concat", y);
  }
  void split(ConstTensor y, Tensor a, Tensor b) override {
    inner_.split(y, a, b);
    maybe("split.a", a);
    maybe("split.b", b);
  }
  void group_norm(const GroupNormOptions& options, ConstTensor x, const NormWeights& weights,
                  Tensor mean, Tensor inverse, Tensor y) override {
    inner_.group_norm(options, x, weights, mean, inverse, y);
    maybe("group_norm.mean", mean);
    maybe("group_norm.inverse", inverse);
    maybe("group_norm.y", y);
  }
  void group_norm_backward(const GroupNormOptions& options, ConstTensor x, ConstTensor dy,
                           const NormWeights& weights, ConstTensor mean, ConstTensor inverse,
                           bool accumulate, Tensor dx, const NormGradients& gradients) override {
    inner_.group_norm_backward(options, x, dy, weights, mean, inverse, accumulate, dx, gradients);
    maybe("group_norm_backward.dx", dx);
    maybe("group_norm_backward.dgamma", gradients.gamma);
    maybe("group_norm_backward.dbeta", gradients.beta);
  }
  void mean_squared_error(ConstTensor prediction, ConstTensor target, Tensor losses,
                          Tensor gradient, ConstTensor state) override {
    inner_.mean_squared_error(prediction, target, losses, gradient, state);
    maybe("mean_squared_error.losses", losses);
    maybe("mean_squared_error.gradient", gradient);
  }
  void diffuse(ConstTensor bytes, float scale, float shift, const DiffusionTables& tables,
               ConstTensor state, Tensor noisy, Tensor noise, Tensor times) override {
    inner_.diffuse(bytes, scale, shift, tables, state, noisy, noise, times);
    maybe("diffuse.noisy", noisy);
    maybe("diffuse.noise", noise);
    maybe("diffuse.times", times);
  }
  void layer_norm(double epsilon, Tensor x, ConstTensor residual, const NormWeights& weights,
                  Tensor mean, Tensor inverse, Tensor y) override {
    inner_.layer_norm(epsilon, x, residual, weights, mean, inverse, y);
    maybe("layer_norm.mean", mean);
    maybe("layer_norm.inverse", inverse);
    maybe("layer_norm.y", y);
  }
  void layer_norm_backward(ConstTensor x, ConstTensor dy, ConstTensor gamma, ConstTensor mean,
                           ConstTensor inverse, ConstTensor dresidual, Tensor dx,
                           const NormGradients& gradients) override {
    inner_.layer_norm_backward(x, dy, gamma, mean, inverse, dresidual, dx, gradients);
    maybe("layer_norm_backward.dx", dx);
    maybe("layer_norm_backward.dgamma", gradients.gamma);
    maybe("layer_norm_backward.dbeta", gradients.beta);
  }
  void embedding(ConstTensor indices, ConstTensor table, ConstTensor positions, Tensor y) override {
    inner_.embedding(indices, table, positions, y);
    maybe("embedding", y);
  }
  void embedding_backward(ConstTensor indices, ConstTensor dy, bool accumulate, Tensor dtable,
                          Tensor dpositions) override {
    inner_.embedding_backward(indices, dy, accumulate, dtable, dpositions);
    maybe("embedding_backward.dtable", dtable);
    maybe("embedding_backward.dpositions", dpositions);
  }
  void attention(const AttentionOptions& options, ConstTensor qkv, Tensor y, Tensor logsum,
                 MathMode math) override {
    inner_.attention(options, qkv, y, logsum, math);
    maybe("attention.y", y);
    maybe("attention.logsum", logsum);
  }
  void attention_backward(const AttentionOptions& options, ConstTensor qkv, ConstTensor y,
                          ConstTensor logsum, ConstTensor dy, Tensor dqkv, MathMode math) override {
    inner_.attention_backward(options, qkv, y, logsum, dy, dqkv, math);
    maybe("attention_backward", dqkv);
  }
  void matmul_batched(const MatmulForm& form, const MatmulBatch& batch, const ConstMatrices& a,
                      const ConstMatrices& b, const Matrices& c) override {
    inner_.matmul_batched(form, batch, a, b, c);
    maybe("matmul_batched", c.tensor);
  }
  void softmax(double scale, bool causal, Tensor x) override {
    inner_.softmax(scale, causal, x);
    maybe("softmax.x", x);
  }
  void softmax_backward(double scale, ConstTensor y, Tensor dy) override {
    inner_.softmax_backward(scale, y, dy);
    maybe("softmax_backward", dy);
  }
  void softmax_cross_entropy(ConstTensor logits, ConstTensor labels, Tensor losses, Tensor gradient,
                             ConstTensor state) override {
    inner_.softmax_cross_entropy(logits, labels, losses, gradient, state);
    maybe("softmax_cross_entropy.losses", losses);
    maybe("softmax_cross_entropy.gradient", gradient);
  }
  void mean(ConstTensor values, Tensor mean) override {
    inner_.mean(values, mean);
    maybe("mean", mean);
  }
  void check_finite(ConstTensor gradients, Tensor state) override {
    inner_.check_finite(gradients, state);
    maybe("check_finite", state);
  }
  void clip_gradients(ConstTensor gradients, double max_norm, Tensor state) override {
    inner_.clip_gradients(gradients, max_norm, state);
    maybe("clip_gradients", state);
  }
  void sgd(const SgdOptions& options, const ParameterUpdate& update, Tensor velocity,
           ConstTensor state) override {
    inner_.sgd(options, update, velocity, state);
    maybe("sgd.master", update.master);
    maybe("sgd.weights", update.weights);
    maybe("sgd.velocity", velocity);
  }
  void adamw(const AdamOptions& options, const ParameterUpdate& update, Tensor first_moment,
             Tensor second_moment, ConstTensor state) override {
    inner_.adamw(options, update, first_moment, second_moment, state);
    maybe("adamw.master", update.master);
    maybe("adamw.weights", update.weights);
    maybe("adamw.first_moment", first_moment);
    maybe("adamw.second_moment", second_moment);
  }
  void finish_step(const LossScaling& scaling, Tensor state) override {
    inner_.finish_step(scaling, state);
    maybe("finish_step", state);
  }

 private:
  void maybe(const std::string& result, Tensor tensor) {
    if (result != target_ || tensor.absent()) return;
    if (tensor.dtype == DType::u8) {
      StepState state = read_step_state(inner_, tensor);
      ++state.skipped_steps;
      inner_.copy_from_host(tensor, &state);
      return;
    }
    std::vector<double> values = read_values(inner_, tensor);
    const std::int64_t stride = stride_ > 0 ? stride_ : tensor.elements();
    for (std::int64_t i = first_ % tensor.elements(); i < tensor.elements(); i += stride) {
      double& value = values[static_cast<std::size_t>(i)];
      value += tensor.dtype == DType::i32 ? 1 : 0.02 * (1 + std::abs(value));
    }
    write_values(inner_, tensor, values);
  }

  std::string target_;
  std::int64_t first_ = 0;
  std::int64_t stride_ = 0;
};

/// The operations on images, on results of up to rows x columns elements.
void run_images(Backend& backend, Backend& memory, std::int64_t rows, std::int64_t columns,
                DType dtype) {
  const DType master = dtype == DType::f64 ? DType::f64 : DType::f32;
  const auto fresh = [&](Shape shape, DType type) {
    return memory.allocate(shape, type, MemoryKind::workspace);
  };
  std::uint64_t stream = 100;
  const auto random = [&](Shape shape, DType type) {
    return random_tensor(memory, shape, type, ++stream);
  };
  const Shape images{3, rows / 3, 1, columns};
  const Shape doubled{3, 2 * (rows / 3), 2, columns};
  const Tensor x = random(images, dtype);
  const Tensor state = allocate_step_state(memory, {.step = 3, .seed = 4});

  backend.add(x, random(images, dtype), fresh(images, dtype));
  backend.dropout({.rate = 0.3}, random(images, dtype), state);
  backend.upsample(x, fresh(doubled, dtype));
  backend.upsample_backward(random(doubled, dtype), fresh(images, dtype));
  const Tensor joined = fresh({rows, 2 * columns}, dtype);
  backend.concat(random({rows, columns}, dtype), random({rows, columns}, dtype), joined);
  backend.split(joined, fresh({rows, columns}, dtype), fresh({rows, columns}, dtype));
  const GroupNormOptions options{.groups = 1, .activation = Activation::silu};
  const NormWeights weights{random({columns}, dtype), random({columns}, dtype)};
  const Tensor mean = fresh({3, 1}, master);
  const Tensor inverse = fresh({3, 1}, master);
  backend.group_norm(options, x, weights, mean, inverse, fresh(images, dtype));
  backend.group_norm_backward(options, x, random(images, dtype), weights, mean, inverse, true,
                              random(images, dtype),
                              {fresh({columns}, master), fresh({columns}, master)});
  backend.mean_squared_error(x, random(images, dtype), fresh({3}, master), fresh(images, dtype),
                             state);
  const DiffusionTables tables{random({10}, DType::f32), random({10}, DType::f32),
                               random({65536}, DType::f32)};
  backend.diffuse(random_tensor(memory, images, DType::u8, 99, 0, 256), 0.01f, -1, tables, state,
                  fresh(images, dtype), fresh(images, dtype), fresh({3}, DType::i32));
}

/// The operations of a transformer, likewise.
void run_sequences(Backend& backend, Backend& memory, std::int64_t rows, std::int64_t columns,
                   DType dtype) {
  const DType master = accumulator_of(dtype);
  const Shape matrix{rows, columns};
  const auto fresh = [&](Shape shape, DType type) {
    return memory.allocate(shape, type, MemoryKind::workspace);
  };
  std::uint64_t stream = 100;
  const auto random = [&](Shape shape, DType type) {
    return random_tensor(memory, shape, type, ++stream);
  };
  const Tensor indices =
      random_tensor(memory, Shape{rows}, DType::i32, ++stream, 0, static_cast<double>(rows));
  const Tensor x = fresh(matrix, dtype);
  backend.embedding(indices, random(matrix, dtype), random(matrix, dtype), x);
  backend.embedding_backward(indices, x, false, fresh(matrix, master), fresh(matrix, master));

  const Tensor gamma = random(Shape{columns}, dtype);
  const Tensor mean = fresh(Shape{rows}, master);
  const Tensor inverse = fresh(Shape{rows}, master);
  const Tensor y = fresh(matrix, dtype);
  backend.layer_norm(1e-5, x, random(matrix, dtype), {gamma, random(Shape{columns}, dtype)}, mean,
                     inverse, y);
  backend.layer_norm_backward(x, y, gamma, mean, inverse, y, fresh(matrix, dtype),
                              {fresh(Shape{columns}, master), fresh(Shape{columns}, master)});

  const AttentionOptions options{1, true, 0.4};
  const Tensor qkv = random(Shape{1, rows, 3 * columns}, dtype);
  const Tensor logsum = fresh(Shape{1, 1, rows}, master);
  backend.attention(options, qkv, y, logsum, MathMode::exact);
  backend.attention_backward(options, qkv, y, logsum, random(matrix, dtype),
                             fresh(qkv.shape, dtype), MathMode::exact);
  const Tensor scores = fresh(Shape{1, rows, rows}, dtype);
  backend.matmul_batched({.transpose_b = true}, {rows, rows, columns, 1, 1},
                         {qkv, 0, 3 * columns, 0, 0}, {qkv, columns, 3 * columns, 0, 0},
                         {scores, 0, rows, 0, 0});
  backend.softmax(options.scale, true, scores);
  backend.softmax_backward(options.scale, scores, random(scores.shape, dtype));
}

/// Runs every operation once, on results of up to rows x columns elements.
void run_all(Backend& backend, Backend& memory, std::int64_t rows, std::int64_t columns,
             DType dtype) {
  const DType master = dtype == DType::f64 ? DType::f64 : DType::f32;
  const Shape matrix{rows, columns};
  const auto fresh = [&](Shape shape, DType type) {
    return memory.allocate(shape, type, MemoryKind::workspace);
  };
  const auto random = [&](Shape shape, DType type, std::uint64_t stream) {
    return random_tensor(memory, shape, type, stream);
  };
  const Tensor x = random(matrix, dtype, 1);
  const Tensor bias = random(Shape{columns}, dtype, 2);
  const Tensor state = allocate_step_state(memory, {.learning_rate = 0.1f});

  backend.copy(x, fresh(matrix, dtype));
  backend.fill_zero(fresh(matrix, dtype));
  backend.cast(random(matrix, DType::f32, 3), fresh(matrix, DType::bf16));
  backend.normalize_bytes(random_tensor(memory, matrix, DType::u8, 4, 0, 256), fresh(matrix, dtype),
                          0.01f, -0.3f);
  const Tensor c = fresh(matrix, dtype);
  backend.matmul({}, random(Shape{rows, 12}, dtype, 5), random(Shape{12, columns}, dtype, 6), c,
                 {.bias = bias, .bias_gradient = fresh(Shape{rows}, dtype)});
  backend.add_bias(x, bias);
  const Tensor saved = memory.allocate_saved(Activation::gelu, rows, columns, dtype);
  backend.activation_forward(Activation::gelu, x, saved);
  backend.activation_backward(Activation::gelu, saved, c);
  backend.bias_gradient(x, fresh(Shape{columns}, master));
  const Tensor losses = fresh(Shape{rows}, master);
  backend.softmax_cross_entropy(
      x, random_tensor(memory, Shape{rows}, DType::i32, 7, 0, static_cast<double>(columns)), losses,
      fresh(matrix, dtype), state);
  backend.mean(losses, fresh(Shape{1}, master));
  const std::int64_t count = rows * columns;
  const ParameterUpdate update{random(Shape{count}, DType::f32, 8),
                               fresh(Shape{count}, DType::bf16),
                               random(Shape{count}, DType::f32, 9)};
  backend.check_finite(update.gradient, state);
  backend.clip_gradients(update.gradient, 0.1, state);
  backend.sgd({}, update, random(Shape{count}, DType::f32, 10), state);
  backend.adamw({.weight_decay = 0.1}, update, random(Shape{count}, DType::f32, 11),
                random_tensor(memory, Shape{count}, DType::f32, 12, 0, 1), state);
  backend.finish_step({.enabled = true}, state);
  run_sequences(backend, memory, rows, columns, dtype);
  run_images(backend, memory, rows, columns, dtype);
}

const char* const kResults[] = {"add",
                                "dropout",
                                "upsample",
                                "upsample_backward",
                                "concat",
                                "split.a",
                                "split.b",
                                "group_norm.mean",
                                "group_norm.inverse",
                                "group_norm.y",
                                "group_norm_backward.dx",
                                "group_norm_backward.dgamma",
                                "group_norm_backward.dbeta",
                                "mean_squared_error.losses",
                                "mean_squared_error.gradient",
                                "diffuse.noisy",
                                "diffuse.noise",
                                "diffuse.times",
                                "copy",
                                "fill_zero",
                                "cast",
                                "normalize_bytes",
                                "matmul",
                                "matmul.bias_gradient",
                                "add_bias",
                                "activation_forward",
                                "activation_backward",
                                "bias_gradient",
                                "softmax_cross_entropy.losses",
                                "softmax_cross_entropy.gradient",
                                "layer_norm.mean",
                                "layer_norm.inverse",
                                "layer_norm.y",
                                "layer_norm_backward.dx",
                                "layer_norm_backward.dgamma",
                                "layer_norm_backward.dbeta",
                                "embedding",
                                "embedding_backward.dtable",
                                "embedding_backward.dpositions",
                                "attention.y",
                                "attention.logsum",
                                "attention_backward",
                                "matmul_batched",
                                "softmax.x",
                                "softmax_backward",
                                "mean",
                                "check_finite",
                                "clip_gradients",
                                "sgd.master",
                                "sgd.weights",
                                "sgd.velocity",
                                "adamw.master",
                                "adamw.weights",
                                "adamw.first_moment",
                                "adamw.second_moment",
                                "finish_step"};

class Planted : public testing::TestWithParam<const char*> {
 protected:
  /// The failed results, as "operation output", when the target is spoilt.
  std::vector<OutputCheck> failures(const std::string& target, std::int64_t rows,
                                    std::int64_t columns, std::int64_t first, std::int64_t stride,
                                    DType dtype) {
    const std::unique_ptr<Backend> cpu = make_cpu_backend({.threads = 1});
    SpoilingBackend spoiling(*cpu);
    spoiling.spoil(target, first, stride);
    CheckBackend check(spoiling);
    run_all(check, *cpu, rows, columns, dtype);
    std::vector<OutputCheck> failed;
    for (const OutputCheck& output : check.outputs()) {
      if (!output.passed()) failed.push_back(output);
    }
    EXPECT_EQ(check.summary().passed, failed.empty());
    return failed;
  }
};

/// An update's copy of the weights is right if it is the spoilt master, rounded.
TEST_P(Planted, OneWrongElementOfASmallResultFailsItAlone) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16}) {
    const auto failed = failures(GetParam(), 9, 7, 0, 0, dtype);
    const std::string target = GetParam();
    const bool copy_too = target == "sgd.master" || target == "adamw.master";
    ASSERT_EQ(failed.size(), copy_too ? 2u : 1u) << target << " " << name_of(dtype);
    EXPECT_EQ(failed[0].failures, 1);
    const std::string operation = target.substr(0, target.find('.'));
    EXPECT_EQ(failed[0].operation.substr(0, operation.size()), operation);
    if (target.find('.') != std::string::npos) {
      EXPECT_EQ(failed[0].output, target.substr(target.find('.') + 1));
    }
    EXPECT_NE(failed[0].describe().find(operation), std::string::npos);
  }
}

// Of 300 x 200 elements 4,096 are checked: of every 50th that is wrong, about 82.
TEST_P(Planted, AFractionOfALargeResultFails) {
  EXPECT_FALSE(failures(GetParam(), 300, 200, 3, 50, DType::f32).empty());
}

INSTANTIATE_TEST_SUITE_P(Results, Planted, testing::ValuesIn(kResults));

TEST(Planted, NothingFailsUnspoilt) {
  const std::unique_ptr<Backend> cpu = make_cpu_backend({.threads = 1});
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    CheckBackend check(*cpu);
    run_all(check, *cpu, 9, 7, dtype);
    EXPECT_TRUE(check.summary().passed) << check.summary().worst;
  }
}

}  // namespace
}  // namespace trainbench
