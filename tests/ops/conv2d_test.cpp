#include <array>

#include "tests/ops/op_test.h"

namespace trainbench {
namespace {

struct Problem {
  std::int64_t batch, height, width, channels, filters;
  Window window;
};

// Odd extents; windows that leave rows out, that reach into the padding on both sides, that jump
// over pixels; a kernel as large as the image; more pixels and patches than a tile of the CPU's
// holds.
constexpr Problem kProblems[] = {
    {1, 1, 1, 1, 1, {1, 1, 0}},    {2, 5, 7, 3, 5, {3, 1, 1}},    {2, 8, 6, 16, 32, {3, 2, 1}},
    {3, 7, 5, 17, 9, {1, 1, 0}},   {2, 7, 9, 8, 16, {1, 2, 0}},   {1, 15, 14, 3, 8, {7, 2, 3}},
    {2, 4, 4, 33, 2, {4, 1, 0}},   {1, 9, 11, 5, 3, {2, 3, 0}},   {2, 6, 6, 4, 4, {5, 1, 2}},
    {2, 20, 20, 48, 3, {3, 1, 1}}, {1, 24, 24, 64, 4, {3, 1, 1}},
};

/// Sums and the sums of their terms' magnitudes, by which their errors go.
struct Sums {
  explicit Sums(std::int64_t count)
      : value(static_cast<std::size_t>(count)), magnitude(static_cast<std::size_t>(count)) {}
  void add(std::int64_t index, double term) {
    value[static_cast<std::size_t>(index)] += term;
    magnitude[static_cast<std::size_t>(index)] += std::abs(term);
  }
  Values value;
  Values magnitude;
};

/// Calls term(x's index, the weight's, y's) for each product of the convolution.
template <class Term>
void for_each_term(const Problem& p, const Term& term) {
  const std::int64_t out_height = p.window.outputs(p.height);
  const std::int64_t out_width = p.window.outputs(p.width);
  const std::int64_t kernel = p.window.kernel;
  for (std::int64_t b = 0; b < p.batch; ++b) {
    for (std::int64_t oh = 0; oh < out_height; ++oh) {
      for (std::int64_t ow = 0; ow < out_width; ++ow) {
        for (std::int64_t ky = 0; ky < kernel; ++ky) {
          for (std::int64_t kx = 0; kx < kernel; ++kx) {
            const std::int64_t h = oh * p.window.stride - p.window.padding + ky;
            const std::int64_t w = ow * p.window.stride - p.window.padding + kx;
            if (h < 0 || h >= p.height || w < 0 || w >= p.width) continue;
            for (std::int64_t f = 0; f < p.filters; ++f) {
              for (std::int64_t c = 0; c < p.channels; ++c) {
                term(((b * p.height + h) * p.width + w) * p.channels + c,
                     ((f * kernel + ky) * kernel + kx) * p.channels + c,
                     ((b * out_height + oh) * out_width + ow) * p.filters + f);
              }
            }
          }
        }
      }
    }
  }
}

double at(const Values& values, std::int64_t index) {
  return values[static_cast<std::size_t>(index)];
}

class Conv2dTest : public OpTest {
 protected:
  Shape input(const Problem& p) { return {p.batch, p.height, p.width, p.channels}; }
  Shape kernel(const Problem& p) {
    return {p.filters, p.window.kernel, p.window.kernel, p.channels};
  }
  Shape output(const Problem& p) {
    return {p.batch, p.window.outputs(p.height), p.window.outputs(p.width), p.filters};
  }

  /// Each element is a sum of at most `terms` products, rounded on its way to memory.
  void expect_sums(const Tensor& actual, const Sums& expected, std::int64_t terms,
                   int roundings = 1) {
    Values tolerance;
    for (std::size_t i = 0; i < expected.value.size(); ++i) {
      tolerance.push_back(product_tolerance(precision(), terms, expected.magnitude[i]) +
                          roundings * storage_tolerance(actual.dtype, roundings > 1
                                                                          ? expected.magnitude[i]
                                                                          : expected.value[i]));
    }
    expect_near(actual, expected.value, tolerance);
  }

  /// One bias a filter, one a filter and image, or none.
  void expect_forward(const Problem& p, const Tensor& bias) {
    const Tensor x = random(input(p), compute());
    const Tensor weights = random(kernel(p), compute());
    const Tensor y = guarded(output(p), compute());
    backend().conv2d(p.window, x, weights, bias, y, precision().math);

    const Values image = values(x);
    const Values filter = values(weights);
    Sums sums(y.elements());
    for_each_term(p, [&](std::int64_t i, std::int64_t w, std::int64_t o) {
      sums.add(o, at(image, i) * at(filter, w));
    });
    if (!bias.absent()) {
      const Values added = values(bias);
      const std::int64_t rows = y.elements() / p.filters;
      const std::int64_t rows_of_a_bias = rows * p.filters / bias.elements();
      for (std::int64_t i = 0; i < y.elements(); ++i) {
        sums.add(i, at(added, i / p.filters / rows_of_a_bias * p.filters + i % p.filters));
      }
    }
    // A bias of an image's own may find a sum that was rounded already.
    expect_sums(y, sums, terms(p), bias.shape.rank() == 2 ? 2 : 1);
  }

  static std::int64_t terms(const Problem& p) {
    return p.window.kernel * p.window.kernel * p.channels + 1;
  }
};

TEST_P(Conv2dTest, Convolves) {
  for (const Problem& p : kProblems) {
    SCOPED_TRACE(testing::Message() << "problem " << &p - kProblems);
    expect_forward(p, {});
    expect_forward(p, random({p.filters}, compute()));
    expect_forward(p, random({p.batch, p.filters}, compute()));
  }
}

TEST_P(Conv2dTest, FindsTheDataGradient) {
  for (const Problem& p : kProblems) {
    SCOPED_TRACE(testing::Message() << "problem " << &p - kProblems);
    const Tensor dy = random(output(p), compute());
    const Tensor weights = random(kernel(p), compute());
    for (const bool accumulate : {false, true}) {
      const Tensor dx = random(input(p), compute());
      Sums sums(dx.elements());
      if (accumulate) {
        const Values before = values(dx);
        for (std::int64_t i = 0; i < dx.elements(); ++i) sums.add(i, at(before, i));
      }
      const Values gradient = values(dy);
      const Values filter = values(weights);
      for_each_term(p, [&](std::int64_t i, std::int64_t w, std::int64_t o) {
        sums.add(i, at(gradient, o) * at(filter, w));
      });
      backend().conv2d_data_gradient(p.window, dy, weights, dx, accumulate, precision().math);
      expect_sums(dx, sums, p.window.kernel * p.window.kernel * p.filters + 1);
    }
  }
}

TEST_P(Conv2dTest, FindsTheWeightGradient) {
  for (const Problem& p : kProblems) {
    SCOPED_TRACE(testing::Message() << "problem " << &p - kProblems);
    const Tensor x = random(input(p), compute());
    const Tensor dy = random(output(p), compute());
    const Tensor dw = guarded(kernel(p), master());
    const Tensor db = guarded({p.filters}, master());
    const Values image = values(x);
    const Values gradient = values(dy);
    Sums weights(dw.elements());
    Sums biases(p.filters);
    for_each_term(p, [&](std::int64_t i, std::int64_t w, std::int64_t o) {
      weights.add(w, at(image, i) * at(gradient, o));
    });
    for (std::int64_t o = 0; o < dy.elements(); ++o) biases.add(o % p.filters, at(gradient, o));
    const std::int64_t pixels = dy.elements() / p.filters;
    backend().conv2d_weight_gradient(p.window, x, dy, dw, {}, precision().math);
    expect_sums(dw, weights, pixels);
    backend().fill_zero(dw);
    backend().conv2d_weight_gradient(p.window, x, dy, dw, db, precision().math);
    expect_sums(dw, weights, pixels);
    expect_sums(db, biases, pixels);
  }
}

// The same call gives the same bits, also on a backend that meets it for the first time.
TEST_P(Conv2dTest, RepeatsBitForBit) {
  const Problem p{4, 13, 11, 12, 20, {3, 2, 1}};
  const Tensor x = random(input(p), compute());
  const Tensor weights = random(kernel(p), compute());
  const Tensor dy = random(output(p), compute());
  std::array<Values, 3> first;
  for (int run = 0; run < 2; ++run) {
    const Tensor y = guarded(output(p), compute());
    const Tensor dx = guarded(input(p), compute());
    const Tensor dw = guarded(kernel(p), master());
    backend().conv2d(p.window, x, weights, {}, y, precision().math);
    backend().conv2d_data_gradient(p.window, dy, weights, dx, false, precision().math);
    backend().conv2d_weight_gradient(p.window, x, dy, dw, {}, precision().math);
    const std::array<Values, 3> results{values(y), values(dx), values(dw)};
    if (run == 0) first = results;
    EXPECT_EQ(results, first);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, Conv2dTest,
                         testing::ValuesIn(op_params(test_devices_by_provider())), param_name);

}  // namespace
}  // namespace trainbench
