#include "tests/ops/op_test.h"

namespace trainbench {
namespace {

using ResampleTest = OpTest;

const Shape kImages[] = {{1, 1, 1, 1}, {2, 3, 5, 7}, {1, 4, 4, 64}, {3, 2, 1, 130}, {1, 3, 2, 513}};

/// The place in an upsampled image of pixel (row, column) of the small one, plus (down, right).
std::size_t above(const Shape& small, std::size_t index, std::int64_t down, std::int64_t right) {
  const auto i = static_cast<std::int64_t>(index);
  const std::int64_t channels = small[3];
  const std::int64_t pixel = i / channels;
  const std::int64_t column = pixel % small[2];
  const std::int64_t row = pixel / small[2];  // of all images, which have twice as many
  return static_cast<std::size_t>(
      ((2 * row + down) * 2 * small[2] + 2 * column + right) * channels + i % channels);
}

Shape doubled(const Shape& small) { return {small[0], 2 * small[1], 2 * small[2], small[3]}; }

TEST_P(ResampleTest, RepeatsEachPixelFourTimes) {
  for (const Shape& shape : kImages) {
    const Tensor x = random(shape, compute());
    const Tensor y = guarded(doubled(shape), compute());
    const Values small = values(x);
    Values expected(4 * small.size());
    for (std::size_t i = 0; i < small.size(); ++i) {
      for (const int down : {0, 1}) {
        for (const int right : {0, 1}) expected[above(shape, i, down, right)] = small[i];
      }
    }
    backend().upsample(x, y);
    expect_equal(y, expected);
  }
}

TEST_P(ResampleTest, AddsUpTheGradientsOfTheCopies) {
  for (const Shape& shape : kImages) {
    const Tensor dy = random(doubled(shape), compute());
    const Tensor dx = guarded(shape, compute());
    const Values large = values(dy);
    Values expected, tolerance;
    for (std::size_t i = 0; i < large.size() / 4; ++i) {
      double sum = 0;
      double magnitude = 0;
      for (const int down : {0, 1}) {
        for (const int right : {0, 1}) {
          const double term = large[above(shape, i, down, right)];
          sum += term;
          magnitude += std::abs(term);
        }
      }
      expected.push_back(sum);
      tolerance.push_back(sum_tolerance(compute(), 4, magnitude) +
                          storage_tolerance(compute(), sum));
    }
    backend().upsample_backward(dy, dx);
    expect_near(dx, expected, tolerance);
  }
}

struct Parts {
  std::int64_t rows, left, right;
};
constexpr Parts kParts[] = {{1, 1, 1}, {3, 17, 5}, {33, 1, 64}, {129, 128, 64}, {2, 700, 1000}};

TEST_P(ResampleTest, JoinsRowsAndPartsThem) {
  for (const auto& [rows, left, right] : kParts) {
    const Tensor a = random({rows, left}, compute());
    const Tensor b = random({rows, right}, compute());
    const Tensor y = guarded({rows, left + right}, compute());
    const Values first = values(a);
    const Values second = values(b);
    Values expected;
    for (std::int64_t row = 0; row < rows; ++row) {
      expected.insert(expected.end(), first.begin() + row * left, first.begin() + (row + 1) * left);
      expected.insert(expected.end(), second.begin() + row * right,
                      second.begin() + (row + 1) * right);
    }
    backend().concat(a, b, y);
    expect_equal(y, expected);
    const Tensor left_again = guarded({rows, left}, compute());
    const Tensor right_again = guarded({rows, right}, compute());
    backend().split(y, left_again, right_again);
    expect_equal(left_again, first);
    expect_equal(right_again, second);
  }
}

// Channels of images are columns of their pixels' rows.
TEST_P(ResampleTest, JoinsTheChannelsOfImages) {
  const Tensor a = guarded({1, 2, 1, 2}, compute(), {1, 2, 3, 4});
  const Tensor b = guarded({1, 2, 1, 1}, compute(), {5, 6});
  const Tensor y = guarded({1, 2, 1, 3}, compute());
  backend().concat(a, b, y);
  expect_equal(y, {1, 2, 5, 3, 4, 6});
}

INSTANTIATE_TEST_SUITE_P(Devices, ResampleTest, testing::ValuesIn(op_params(test_devices())),
                         param_name);

}  // namespace
}  // namespace trainbench
