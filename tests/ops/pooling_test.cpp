#include <limits>

#include "tests/ops/op_test.h"

namespace trainbench {
namespace {

struct Problem {
  std::int64_t batch, height, width, channels;
  Window window;
};

constexpr Problem kProblems[] = {{1, 1, 1, 1, {1, 1, 0}},    {2, 7, 9, 5, {3, 2, 1}},
                                 {2, 8, 6, 16, {2, 2, 0}},   {1, 6, 5, 700, {3, 1, 1}},
                                 {3, 10, 11, 17, {3, 2, 1}}, {1, 9, 9, 3, {2, 3, 0}}};

using PoolingTest = OpTest;

/// The maxima, and each one's place in its window and in x.
struct Maxima {
  Values value, place;
  std::vector<std::size_t> source;
};

Maxima maxima_of(const Problem& p, const Values& x) {
  Maxima result;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t oh = 0; oh < p.window.outputs(p.height); ++oh) {
      for (std::int64_t ow = 0; ow < p.window.outputs(p.width); ++ow) {
        for (std::int64_t c = 0; c < p.channels; ++c) {
          double best = -std::numeric_limits<double>::infinity();
          std::int64_t place = 0;
          std::size_t source = 0;
          for (std::int64_t k = p.window.kernel * p.window.kernel; k-- > 0;) {
            const std::int64_t h = oh * p.window.stride - p.window.padding + k / p.window.kernel;
            const std::int64_t w = ow * p.window.stride - p.window.padding + k % p.window.kernel;
            if (h < 0 || h >= p.height || w < 0 || w >= p.width) continue;
            const auto index =
                static_cast<std::size_t>(((b * p.height + h) * p.width + w) * p.channels + c);
            if (x[index] < best) continue;
            best = x[index];
            place = k;
            source = index;
          }
          result.value.push_back(best);
          result.place.push_back(static_cast<double>(place));
          result.source.push_back(source);
        }
      }
    }
  }
  return result;
}

TEST_P(PoolingTest, TakesTheLargestOfAWindowBothWays) {
  for (const Problem& p : kProblems) {
    SCOPED_TRACE(testing::Message() << "problem " << &p - kProblems);
    const Shape input{p.batch, p.height, p.width, p.channels};
    const Shape output{p.batch, p.window.outputs(p.height), p.window.outputs(p.width), p.channels};
    // Small whole numbers, negative in the main: many are equal, and a padding of zero would win.
    Values numbers = random_values(input.elements(), 7, -6, 1);
    for (double& number : numbers) number = std::floor(number);
    const Tensor x = guarded(input, compute(), numbers);
    const Tensor y = guarded(output, compute());
    const Tensor chosen = guarded(output, DType::u8);
    const Maxima maxima = maxima_of(p, values(x));
    backend().max_pool(p.window, x, y, chosen);
    expect_equal(y, maxima.value);
    expect_equal(chosen, maxima.place);
    backend().fill_zero(y);
    backend().max_pool(p.window, x, y, {});
    expect_equal(y, maxima.value);

    const Tensor dy = random(output, compute());
    const Tensor dx = guarded(input, compute());
    const Values gradient = values(dy);
    Values expected(numbers.size()), magnitude(numbers.size()), tolerance;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      expected[maxima.source[i]] += gradient[i];
      magnitude[maxima.source[i]] += std::abs(gradient[i]);
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      tolerance.push_back(
          sum_tolerance(compute(), p.window.kernel * p.window.kernel, magnitude[i]) +
          storage_tolerance(compute(), expected[i]));
    }
    backend().max_pool_backward(p.window, chosen, dy, dx);
    expect_near(dx, expected, tolerance);
  }
}

TEST_P(PoolingTest, AMaximumOfNegativeInfinitiesHasAPlaceAndANaNWins) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor x = guarded({1, 2, 4, 1}, compute(), {-kInf, -kInf, 1, nan, -kInf, -kInf, nan, 2});
  const Tensor y = guarded({1, 1, 2, 1}, compute());
  const Tensor chosen = guarded({1, 1, 2, 1}, DType::u8);
  backend().max_pool({2, 2, 0}, x, y, chosen);
  expect_equal(y, {-kInf, nan});
  EXPECT_EQ(values(chosen)[0], 0);
}

TEST_P(PoolingTest, AveragesBothWays) {
  for (const Problem& p : kProblems) {
    const Shape input{p.batch, p.height, p.width, p.channels};
    const auto pixels = static_cast<double>(p.height * p.width);
    const auto c = static_cast<std::size_t>(p.channels);
    const Tensor x = random(input, compute());
    const Tensor y = guarded({p.batch, p.channels}, compute());
    const Values image = values(x);
    Values mean(static_cast<std::size_t>(y.elements())), size(mean.size()), tolerance;
    for (std::size_t i = 0; i < image.size(); ++i) {
      const std::size_t at = i / (c * static_cast<std::size_t>(pixels)) * c + i % c;
      mean[at] += image[i] / pixels;
      size[at] += std::abs(image[i]) / pixels;
    }
    for (std::size_t i = 0; i < mean.size(); ++i) {
      tolerance.push_back(sum_tolerance(compute(), p.height * p.width + 1, size[i]) +
                          storage_tolerance(compute(), mean[i]));
    }
    backend().average_pool(x, y);
    expect_near(y, mean, tolerance);

    const Tensor dy = random({p.batch, p.channels}, compute());
    const Tensor dx = guarded(input, compute());
    const Values gradient = values(dy);
    Values share, share_tolerance;
    for (std::size_t i = 0; i < image.size(); ++i) {
      share.push_back(gradient[i / (c * static_cast<std::size_t>(pixels)) * c + i % c] / pixels);
      share_tolerance.push_back(2 * arithmetic_roundoff(compute()) * std::abs(share.back()) +
                                storage_tolerance(compute(), share.back()));
    }
    backend().average_pool_backward(dy, dx);
    expect_near(dx, share, share_tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, PoolingTest, testing::ValuesIn(op_params(test_devices())),
                         param_name);

}  // namespace
}  // namespace trainbench
