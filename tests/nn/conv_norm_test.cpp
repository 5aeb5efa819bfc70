#include "common/nn/conv_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "common/check/random_tensor.h"
#include "common/nn/resnet_block.h"
#include "cpu/cpu_backend.h"
#include "tests/finite_difference.h"

namespace trainbench {
namespace {

constexpr std::int64_t kBatch = 2;
constexpr std::int64_t kSide = 4;
constexpr std::int64_t kIn = 3;
constexpr double kStep = 0x1p-14;

/// Third derivatives of the losses below. A normalised value moves with one weight or input by at
/// most 1 / deviation, here below 3 a layer, and its third derivative is below 15 times the cube of
/// that; a loss adds up at most 32 pixels with weights of at most 1, and a block passes three
/// layers, of which the norms keep the scale. Values are of a hundred roundings of sums below 100.
constexpr double kThird = 15 * 27 * 32;
double tolerance() { return difference_tolerance(kStep, kThird, 100, 100); }

constexpr Extent kExtent{
    .batch = kBatch, .compute = DType::f64, .master = DType::f64, .training = true, .fused = false};

Tensor images(Backend& backend, std::int64_t side, std::int64_t channels, std::uint64_t stream) {
  return random_tensor(backend, Shape{kBatch, side, side, channels}, DType::f64, stream);
}

double weighted(Backend& backend, ConstTensor y, const std::vector<double>& weights) {
  const std::vector<double> values = read_values(backend, y);
  return std::inner_product(values.begin(), values.end(), weights.begin(), 0.0);
}

/// The gradient in `gradient` is the slope of the loss by `tensor`'s values.
void expect_slopes(Backend& backend, const Tensor& gradient, const std::vector<double>& values,
                   const std::function<double(const std::vector<double>&)>& loss) {
  const std::vector<double> found = read_values(backend, gradient);
  const std::vector<double> slopes = central_differences(values, kStep, loss);
  double largest = 0;
  for (std::size_t i = 0; i < slopes.size(); ++i) {
    ASSERT_NEAR(found[i], slopes[i], tolerance()) << "element " << i;
    largest = std::max(largest, std::abs(found[i]));
  }
  EXPECT_GT(largest, 1e3 * tolerance()) << "the comparison must mean something";
}

struct Variant {
  Window window;
  Activation activation;
  bool residual;
  bool fused;
};

class ConvNormTest : public testing::TestWithParam<Variant> {
 protected:
  ConvNormTest()
      : layer_(layout_, "unit", kIn, 5, GetParam().window, GetParam().activation),
        parameters_(*backend_, layout_, kFp64, 3),
        input_(images(*backend_, kSide, kIn, 1)) {
    layer_.allocate(*backend_, kExtent, kSide, kSide);
    const Shape shape = layer_.output().shape;
    weights_ = random_values(shape.elements(), 2);
    if (GetParam().residual) residual_ = images(*backend_, layer_.height(), 5, 4);
    // A norm that is not the identity.
    std::vector<double> values = read_values(*backend_, parameters_.master());
    const std::vector<double> moved = random_values(static_cast<std::int64_t>(values.size()), 9);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] != 0) values[i] += 0.2 * moved[i];
    }
    parameters_.set(*backend_, values);
  }

  double loss() {
    const Pass pass{*backend_, MathMode::exact, GetParam().fused};
    return weighted(*backend_, layer_.forward(pass, parameters_, input_, residual_), weights_);
  }

  std::unique_ptr<Backend> backend_ = make_cpu_backend({.threads = 1});
  ParameterLayout layout_;
  ConvNorm layer_;
  Parameters parameters_;
  Tensor input_;
  Tensor residual_;
  std::vector<double> weights_;
};

TEST_P(ConvNormTest, GradientsAreSlopesOfTheLoss) {
  loss();
  const Tensor dy = backend_->allocate(layer_.output().shape, DType::f64, MemoryKind::workspace);
  write_values(*backend_, dy, weights_);
  const auto like = [&](const Tensor& tensor) {
    return tensor.absent() ? Tensor()
                           : backend_->allocate(tensor.shape, DType::f64, MemoryKind::workspace);
  };
  const Tensor dx = like(input_);
  const Tensor dresidual = like(residual_);
  const Pass pass{*backend_, MathMode::exact, GetParam().fused};
  layer_.backward(pass, parameters_, dy, dresidual, dx);

  const std::vector<double> weights = read_values(*backend_, parameters_.master());
  expect_slopes(*backend_, parameters_.gradients(), weights,
                [&](const std::vector<double>& changed) {
                  parameters_.set(*backend_, changed);
                  return loss();
                });
  parameters_.set(*backend_, weights);
  for (const auto& each : {std::pair(input_, dx), std::pair(residual_, dresidual)}) {
    // Lambdas of clang 14 capture no structured binding.
    const auto& tensor = each.first;
    const auto& gradient = each.second;
    if (tensor.absent()) continue;
    const std::vector<double> values = read_values(*backend_, tensor);
    expect_slopes(*backend_, gradient, values, [&](const std::vector<double>& changed) {
      write_values(*backend_, tensor, changed);
      return loss();
    });
    write_values(*backend_, tensor, values);
  }
}

INSTANTIATE_TEST_SUITE_P(Variants, ConvNormTest,
                         testing::Values(Variant{{3, 1, 1}, Activation::relu, false, true},
                                         Variant{{3, 2, 1}, Activation::relu, true, true},
                                         Variant{{1, 1, 0}, Activation::none, true, true},
                                         Variant{{1, 2, 0}, Activation::none, false, true},
                                         Variant{{3, 1, 1}, Activation::relu, true, false},
                                         Variant{{3, 2, 1}, Activation::none, false, false}));

// Where a pass does not train, the running statistics take the batch's place and stay as they are.
TEST(ConvNorm, EvaluatesByWhatTrainingLeft) {
  const std::unique_ptr<Backend> backend = make_cpu_backend({.threads = 1});
  ParameterLayout layout;
  ConvNorm layer(layout, "unit", kIn, 2, {1, 1, 0}, Activation::none);
  const Parameters parameters(*backend, layout, kFp64, 3);
  layer.allocate(*backend, kExtent, kSide, kSide);
  const Tensor x = images(*backend, kSide, kIn, 1);
  const Pass training{*backend};
  const Pass evaluation{.backend = *backend, .training = false};
  const std::vector<double> before =
      read_values(*backend, layer.forward(evaluation, parameters, x));
  EXPECT_EQ(read_values(*backend, layer.forward(evaluation, parameters, x)), before);
  // After so many steps on one batch a blend of 0.1 is that batch's statistics, variance unbiased.
  std::vector<double> trained;
  for (int i = 0; i < 400; ++i) {
    trained = read_values(*backend, layer.forward(training, parameters, x));
  }
  const std::vector<double> after = read_values(*backend, layer.forward(evaluation, parameters, x));
  constexpr double kRows = kBatch * kSide * kSide;
  for (std::size_t i = 0; i < after.size(); ++i) {
    // epsilon is shifted by the same factor: 1e-5 of a variance above 1e-2.
    EXPECT_NEAR(after[i], trained[i] * std::sqrt((kRows - 1) / kRows), 1e-3);
  }
  EXPECT_NE(before, after);
}

using BlockVariant = std::tuple<ResnetBlock::Kind, std::int64_t, std::int64_t, bool>;

class ResnetBlockTest : public testing::TestWithParam<BlockVariant> {
 protected:
  static constexpr std::int64_t kWidth = 2;

  ResnetBlockTest()
      : block_(layout_, "block", std::get<0>(GetParam()), std::get<1>(GetParam()), kWidth,
               std::get<2>(GetParam())),
        parameters_(*backend_, layout_, kFp64, 3),
        input_(images(*backend_, kSide, std::get<1>(GetParam()), 1)),
        pass_{*backend_, MathMode::exact, std::get<3>(GetParam())} {
    block_.allocate(*backend_, kExtent, kSide, kSide);
    weights_ = random_values(block_.output().elements(), 2);
    buffers_.allocate(*backend_, std::max(block_.largest(), input_.elements()), DType::f64);
  }

  double loss() {
    return weighted(*backend_, block_.forward(pass_, parameters_, input_), weights_);
  }

  std::unique_ptr<Backend> backend_ = make_cpu_backend({.threads = 1});
  ParameterLayout layout_;
  ResnetBlock block_;
  Parameters parameters_;
  Tensor input_;
  Pass pass_;
  GradientBuffers buffers_;
  std::vector<double> weights_;
};

TEST_P(ResnetBlockTest, GradientsAreSlopesOfTheLoss) {
  loss();
  write_values(*backend_, buffers_.view(0, block_.output().shape), weights_);
  block_.backward(pass_, parameters_, buffers_);
  const std::vector<double> weights = read_values(*backend_, parameters_.master());
  expect_slopes(*backend_, parameters_.gradients(), weights,
                [&](const std::vector<double>& changed) {
                  parameters_.set(*backend_, changed);
                  return loss();
                });
  parameters_.set(*backend_, weights);
  const std::vector<double> values = read_values(*backend_, input_);
  expect_slopes(*backend_, buffers_.view(0, input_.shape), values,
                [&](const std::vector<double>& changed) {
                  write_values(*backend_, input_, changed);
                  return loss();
                });
}

INSTANTIATE_TEST_SUITE_P(Variants, ResnetBlockTest,
                         testing::Values(BlockVariant{ResnetBlock::Kind::basic, 2, 1, true},
                                         BlockVariant{ResnetBlock::Kind::basic, 3, 2, true},
                                         BlockVariant{ResnetBlock::Kind::bottleneck, 8, 1, true},
                                         BlockVariant{ResnetBlock::Kind::bottleneck, 3, 1, true},
                                         BlockVariant{ResnetBlock::Kind::bottleneck, 4, 2, true},
                                         BlockVariant{ResnetBlock::Kind::basic, 3, 2, false},
                                         BlockVariant{ResnetBlock::Kind::bottleneck, 8, 1, false}));

}  // namespace
}  // namespace trainbench
