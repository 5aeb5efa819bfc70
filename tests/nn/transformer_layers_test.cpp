// The layers of a transformer by themselves: gradients in double against finite differences.

#include <gtest/gtest.h>

#include <functional>
#include <numeric>

#include "common/check/random_tensor.h"
#include "common/nn/attention.h"
#include "common/nn/embedding.h"
#include "common/nn/layer_norm.h"
#include "cpu/cpu_backend.h"
#include "tests/finite_difference.h"

namespace trainbench {
namespace {

constexpr double kStep = 0x1p-11;

/// The parameter says whether passes are fused.
class TransformerLayers : public testing::TestWithParam<bool> {
 protected:
  Pass pass() { return {*backend_, MathMode::exact, GetParam()}; }
  Extent extent(std::int64_t rows) const {
    return {.batch = rows, .compute = DType::f64, .master = DType::f64, .fused = GetParam()};
  }
  Tensor random(Shape shape) {
    return random_tensor(*backend_, shape, DType::f64, ++stream_, -1, 1);
  }
  std::vector<double> values(ConstTensor tensor) { return read_values(*backend_, tensor); }

  /// The sum of y times fixed slopes, which are then y's gradient.
  double loss(ConstTensor y, const std::vector<double>& slopes) {
    const std::vector<double> numbers = values(y);
    return std::inner_product(numbers.begin(), numbers.end(), slopes.begin(), 0.0);
  }

  /// Central differences err by h^2 / 6 f''': those with h and 2h are apart by three times the
  /// error of the better one. Losses are sums of up to 100 numbers below 4 of 50 roundings each.
  static void expect_slopes(const std::vector<double>& gradient, const std::vector<double>& x,
                            const std::function<double(const std::vector<double>&)>& f) {
    const std::vector<double> near = central_differences(x, kStep, f);
    const std::vector<double> far = central_differences(x, 2 * kStep, f);
    ASSERT_EQ(gradient.size(), x.size());
    double largest = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double tolerance =
          std::abs(far[i] - near[i]) / 2 + difference_tolerance(kStep, 0, 150, 400);
      ASSERT_NEAR(gradient[i], near[i], tolerance) << "element " << i;
      ASSERT_LT(tolerance, 1e-3);
      largest = std::max(largest, std::abs(gradient[i]));
    }
    EXPECT_GT(largest, 0.1) << "the comparison must mean something";
  }
  void expect_slopes(ConstTensor gradient, Tensor x, const std::function<double()>& f) {
    const std::vector<double> middle = values(x);
    expect_slopes(values(gradient), middle, [&](const std::vector<double>& changed) {
      write_values(*backend_, x, changed);
      return f();
    });
    write_values(*backend_, x, middle);
  }

  std::unique_ptr<Backend> backend_ = make_cpu_backend({.threads = 1});
  ParameterLayout layout_;
  std::uint64_t stream_ = 0;
};

TEST_P(TransformerLayers, LayerNormsGradientsAreSlopes) {
  constexpr std::int64_t kRows = 4, kColumns = 6;
  LayerNorm norm(layout_, "norm", kColumns);
  norm.allocate(*backend_, extent(kRows));
  Parameters parameters(*backend_, layout_, kFp64, 1);
  parameters.set(*backend_, random_values(layout_.elements(), 77));
  const Tensor x = random({kRows, kColumns});
  const Tensor residual = random({kRows, kColumns});
  const Tensor sum = random({kRows, kColumns});
  const std::vector<double> slopes = random_values(kRows * kColumns, 88);
  // The sum of x and the residual is an output too.
  const std::vector<double> sum_slopes = random_values(kRows * kColumns, 99);
  const auto forward = [&] {
    backend_->copy(x, sum);
    const Tensor y = norm.forward(pass(), parameters, sum, residual);
    return loss(y, slopes) + loss(sum, sum_slopes);
  };
  forward();
  const Tensor dx = random({kRows, kColumns});
  const Tensor dy = random({kRows, kColumns});
  write_values(*backend_, dy, slopes);
  write_values(*backend_, dx, sum_slopes);
  norm.backward(pass(), parameters, dy, dx, dx, random({kRows, kColumns}));
  const std::vector<double> gradients = values(parameters.gradients());
  expect_slopes(dx, x, forward);
  expect_slopes(dx, residual, forward);
  expect_slopes(gradients, values(parameters.master()), [&](const std::vector<double>& changed) {
    parameters.set(*backend_, changed);
    return forward();
  });
}

TEST_P(TransformerLayers, EmbeddingsGradientsAreSlopes) {
  constexpr std::int64_t kSamples = 3, kSteps = 4;
  const EmbeddingShape shape{.entries = 5, .columns = 3, .steps = kSteps};
  Embedding embedding(layout_, "embedding", shape, Initial::normal(1));
  embedding.allocate(*backend_, extent(kSamples * kSteps));
  Parameters parameters(*backend_, layout_, kFp64, 1);
  const Tensor tokens =
      random_tensor(*backend_, {kSamples, kSteps}, DType::i32, 5, 0, shape.entries);
  const Tensor dy = random({kSamples * kSteps, shape.columns});
  const std::vector<double> slopes = values(dy);
  const auto forward = [&] { return loss(embedding.forward(pass(), parameters, tokens), slopes); };
  forward();
  embedding.backward(pass(), parameters, dy, false);
  expect_slopes(values(parameters.gradients()), values(parameters.master()),
                [&](const std::vector<double>& changed) {
                  parameters.set(*backend_, changed);
                  return forward();
                });
}

TEST_P(TransformerLayers, AttentionsGradientIsTheSlope) {
  for (const bool causal : {false, true}) {
    constexpr std::int64_t kSamples = 2, kSteps = 5;
    const AttentionShape shape{.steps = kSteps, .heads = 2, .columns = 6, .causal = causal};
    Attention attention(shape);
    attention.allocate(*backend_, extent(kSamples * kSteps));
    const Tensor qkv = random({kSamples * kSteps, 3 * shape.columns});
    const Tensor dy = random({kSamples * kSteps, shape.columns});
    const std::vector<double> slopes = values(dy);
    const auto forward = [&] { return loss(attention.forward(pass(), qkv), slopes); };
    forward();
    const Tensor dqkv = random(qkv.shape);
    attention.backward(pass(), dy, dqkv);
    expect_slopes(dqkv, qkv, forward);
  }
}

INSTANTIATE_TEST_SUITE_P(Fusion, TransformerLayers, testing::Bool(),
                         [](const auto& fused) { return fused.param ? "fused" : "separate"; });

}  // namespace
}  // namespace trainbench
