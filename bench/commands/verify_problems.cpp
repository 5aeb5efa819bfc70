#include "bench/commands/verify_problems.h"

#include <limits>

#include "bench/commands/problem_tensors.h"

namespace trainbench {
namespace {

struct Extents {
  std::int64_t m, n, k;
};

/// One element, and sizes that no vector, tile or warp divides, around those that they have.
constexpr Extents kProducts[] = {{1, 1, 1}, {3, 17, 33}, {65, 33, 129}, {34, 130, 70}};
constexpr Extents kMatrices[] = {{1, 1, 0}, {3, 17, 0}, {33, 129, 0}};

class Problems : private ProblemTensors {
 public:
  using ProblemTensors::ProblemTensors;

  void run() {
    for (const Extents& extents : kProducts) products(extents);
    for (const Extents& extents : kMatrices) {
      passes(extents.m, extents.n);
      loss(extents.m, extents.n);
      conversions(extents.m, extents.n);
      updates(extents.m * extents.n);
    }
  }

 private:
  void products(const Extents& e) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        const Tensor a = random(transpose_a ? Shape{e.k, e.m} : Shape{e.m, e.k});
        const Tensor b = random(transpose_b ? Shape{e.n, e.k} : Shape{e.k, e.n});
        MatmulForm form{
            .transpose_a = transpose_a, .transpose_b = transpose_b, .math = precision_.math};
        via_.matmul(form, a, b, fresh({e.m, e.n}, precision_.compute));
        form.accumulate = true;
        via_.matmul(form, a, b, random({e.m, e.n}, precision_.master));
      }
    }
    forward_and_backward(e, Activation::none);
    for (const Activation activation : kActivations) forward_and_backward(e, activation);
  }

  /// A layer's three products as training has them: with bias and activation, with the activation's
  /// derivative, and with the bias gradient.
  void forward_and_backward(const Extents& e, Activation activation) {
    const DType compute = precision_.compute;
    const DType master = precision_.master;
    const Tensor x = random({e.m, e.k});
    const Tensor w = random({e.n, e.k});
    const Tensor y = fresh({e.m, e.n}, compute);
    const Tensor saved = memory_.allocate_saved(activation, e.m, e.n, compute);
    const MathMode math = precision_.math;
    via_.matmul({.transpose_b = true, .math = math}, x, w, y,
                {.bias = random({e.n}), .activation = activation, .saved = saved});
    const Tensor dz = fresh({e.m, e.n}, compute);
    via_.matmul({.math = math}, random({e.m, e.k}), random({e.k, e.n}), dz,
                {.gradient_of = activation, .gradient_saved = saved});
    via_.matmul({.transpose_a = true, .math = math}, dz, x, fresh({e.n, e.k}, master),
                {.bias_gradient = fresh({e.n}, master)});
  }

  void passes(std::int64_t m, std::int64_t n) {
    const Tensor x = random({m, n}, precision_.compute, -4, 4);
    via_.add_bias(x, random({n}));
    via_.bias_gradient(x, fresh({n}, precision_.master));
    for (const Activation activation : kActivations) {
      const Tensor saved = memory_.allocate_saved(activation, m, n, precision_.compute);
      via_.activation_forward(activation, random({m, n}, precision_.compute, -4, 4), saved);
      via_.activation_backward(activation, saved, random({m, n}));
    }
  }

  void loss(std::int64_t samples, std::int64_t classes) {
    const Tensor state = allocate_step_state(memory_, {.loss_scale = 128});
    const Tensor logits = random({samples, classes}, precision_.compute, -8, 8);
    const Tensor labels = random({samples}, DType::i32, 0, static_cast<double>(classes));
    const Tensor losses = fresh({samples}, precision_.master);
    via_.softmax_cross_entropy(logits, labels, losses,
                               fresh({samples, classes}, precision_.compute), state);
    via_.mean(losses, fresh({1}, precision_.master));
  }

  void conversions(std::int64_t m, std::int64_t n) {
    const DType compute = precision_.compute;
    via_.normalize_bytes(random({m, n}, DType::u8, 0, 256), fresh({m, n}, compute), 0.0111f,
                         -0.81f);
    via_.cast(random({m, n}, precision_.master, -100, 100), fresh({m, n}, compute));
    via_.cast(random({m, n}, compute, -100, 100), fresh({m, n}, precision_.master));
    via_.copy(random({m, n}), fresh({m, n}, compute));
    via_.fill_zero(random({m, n}));
  }

  /// Updates by both rules, then a gradient that is not finite and what it leaves out.
  void updates(std::int64_t count) {
    const DType master = precision_.master;
    const Tensor state = allocate_step_state(
        memory_, {.learning_rate = 0.05f, .loss_scale = 128, .step = 3, .clean_steps = 1});
    const LossScaling scaling{.enabled = true, .growth_interval = 2};
    const Tensor gradient = random({count}, master, -100, 100);
    const ParameterUpdate update{
        random({count}, master),
        precision_.has_master_copy() ? fresh({count}, precision_.compute) : Tensor{}, gradient};
    const Tensor first = random({count}, master);
    const Tensor second = random({count}, master, 0, 1);
    for (const bool finite : {true, false}) {
      if (!finite) {
        std::vector<double> values = read_values(memory_, gradient);
        values.back() = std::numeric_limits<double>::infinity();
        write_values(memory_, gradient, values);
      }
      via_.check_finite(gradient, state);
      via_.clip_gradients(gradient, 1.0, state);
      via_.sgd({.momentum = 0.9, .weight_decay = 0.01}, update, first, state);
      via_.adamw({.weight_decay = 0.01}, update, first, second, state);
      via_.finish_step(scaling, state);
    }
  }
};

}  // namespace

void run_operations(Backend& via, Backend& memory, const Precision& precision) {
  memory.require_precision(precision);
  Problems(via, memory, precision).run();
}

}  // namespace trainbench
