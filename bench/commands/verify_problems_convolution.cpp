#include "bench/commands/problem_tensors.h"
#include "bench/commands/verify_problems.h"

namespace trainbench {
namespace {

struct Problem {
  std::int64_t batch, height, width, channels, filters;
  Window window;

  Shape input() const { return {batch, height, width, channels}; }
  Shape kernel() const { return {filters, window.kernel, window.kernel, channels}; }
  Shape output() const { return image(filters); }
  Shape pooled() const { return image(channels); }
  Shape image(std::int64_t c) const {
    return {batch, window.outputs(height), window.outputs(width), c};
  }
};

constexpr Problem kProblems[] = {{1, 1, 1, 1, 1, {1, 1, 0}},
                                 {2, 9, 7, 3, 5, {3, 1, 1}},
                                 {3, 8, 6, 16, 32, {3, 2, 1}},
                                 {2, 17, 16, 3, 8, {7, 2, 3}},
                                 {2, 7, 7, 33, 64, {1, 2, 0}}};

class Problems : private ProblemTensors {
 public:
  using ProblemTensors::ProblemTensors;

  void run() {
    for (const Problem& p : kProblems) {
      convolutions(p);
      pools(p);
      norms(p);
    }
  }

 private:
  void convolutions(const Problem& p) {
    const MathMode math = precision_.math;
    const Tensor x = random(p.input());
    const Tensor weights = random(p.kernel());
    const Tensor dy = random(p.output());
    for (const Tensor& bias : {Tensor(), random({p.filters}), random({p.batch, p.filters})}) {
      via_.conv2d(p.window, x, weights, bias, fresh(p.output()), math);
    }
    for (const bool accumulate : {false, true}) {
      via_.conv2d_data_gradient(p.window, dy, weights, random(p.input()), accumulate, math);
    }
    via_.conv2d_weight_gradient(p.window, x, dy, fresh_master(p.kernel()), {}, math);
    via_.conv2d_weight_gradient(p.window, x, dy, fresh_master(p.kernel()),
                                fresh_master({p.filters}), math);
  }

  void pools(const Problem& p) {
    const Tensor x = random(p.input());
    const Tensor chosen = fresh(p.pooled(), DType::u8);
    via_.max_pool(p.window, x, fresh(p.pooled()), {});
    via_.max_pool(p.window, x, fresh(p.pooled()), chosen);
    via_.max_pool_backward(p.window, chosen, random(p.pooled()), fresh(p.input()));
    const Shape means{p.batch, p.channels};
    via_.average_pool(x, fresh(means));
    via_.average_pool_backward(random(means), fresh(p.input()));
  }

  void norms(const Problem& p) {
    const Shape channels{p.channels};
    const DType master = precision_.master;
    for (const Activation activation : {Activation::none, Activation::relu}) {
      for (const bool with_residual : {false, true}) {
        const BatchNormOptions options{.activation = activation};
        const Tensor x = random(p.input(), precision_.compute, -1, 3);
        const Tensor gamma = random(channels);
        const NormWeights weights{gamma, random(channels)};
        const Tensor residual = with_residual ? random(p.input()) : Tensor();
        const BatchNormState state{fresh_master(channels), fresh_master(channels),
                                   random(channels, master), random(channels, master, 0.5, 2)};
        const Tensor y = fresh(p.input());
        via_.batch_norm(options, x, weights, residual, state, y);
        const Tensor dy = random(p.input());
        via_.batch_norm_backward(options, x, y, dy, gamma, state, dy,
                                 with_residual ? fresh(p.input()) : Tensor(),
                                 {fresh_master(channels), fresh_master(channels)});
        via_.batch_norm_evaluate(options, x, weights, residual, state, y);
      }
    }
  }
};

}  // namespace

void run_convolution_operations(Backend& via, Backend& memory, const Precision& precision) {
  memory.require_precision(precision);
  Problems(via, memory, precision).run();
}

}  // namespace trainbench
