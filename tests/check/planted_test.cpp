// A wrong element in any result of an operation that every model has fails the check, and nothing
// else does.

#include "tests/check/spoiling_backend.h"

namespace trainbench {
namespace {

class SpoilingCommon : public SpoilingBackend {
 public:
  using SpoilingBackend::SpoilingBackend;

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
};

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
}

const char* const kResults[] = {"copy",
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

class Planted : public testing::TestWithParam<const char*> {};

TEST_P(Planted, OneWrongElementOfASmallResultFailsItAlone) {
  expect_to_fail_alone<SpoilingCommon>(run_all, GetParam());
}

TEST_P(Planted, AFractionOfALargeResultFails) {
  expect_a_fraction_to_fail<SpoilingCommon>(run_all, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Results, Planted, testing::ValuesIn(kResults));

TEST(Planted, NothingFailsUnspoilt) { expect_to_pass_unspoilt(run_all); }

}  // namespace
}  // namespace trainbench
