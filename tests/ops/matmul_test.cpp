#include "tests/ops/op_test.h"

namespace trainbench {
namespace {

struct Size {
  std::int64_t m, n, k;
};

/// One element, one row, one column, and sizes around those that vectors, warps and tiles have.
constexpr Size kSizes[] = {{1, 1, 1},     {1, 129, 3},   {129, 1, 33}, {3, 17, 33},
                           {17, 33, 129}, {33, 129, 17}, {64, 64, 64}, {130, 70, 65}};

/// op(A) op(B) by its definition, and the sums of the terms' magnitudes.
struct Product {
  Values sum;
  Values magnitude;
};

Product multiply(const Values& a, const Values& b, const MatmulForm& form, const Size& size) {
  Product result;
  for (std::int64_t i = 0; i < size.m; ++i) {
    for (std::int64_t j = 0; j < size.n; ++j) {
      double sum = 0;
      double magnitude = 0;
      for (std::int64_t l = 0; l < size.k; ++l) {
        const std::int64_t at_a = form.transpose_a ? l * size.m + i : i * size.k + l;
        const std::int64_t at_b = form.transpose_b ? j * size.k + l : l * size.n + j;
        const double term = a[static_cast<std::size_t>(at_a)] * b[static_cast<std::size_t>(at_b)];
        sum += term;
        magnitude += std::abs(term);
      }
      result.sum.push_back(sum);
      result.magnitude.push_back(magnitude);
    }
  }
  return result;
}

/// Sums of the rows of op(A) and of their magnitudes.
Product row_sums(const Values& a, const MatmulForm& form, const Size& size) {
  const Values ones(static_cast<std::size_t>(size.k), 1.0);
  return multiply(a, ones, form, {size.m, 1, size.k});
}

class MatmulTest : public OpTest {
 protected:
  MatmulForm form(bool transpose_a, bool transpose_b) const {
    return {.transpose_a = transpose_a, .transpose_b = transpose_b, .math = precision().math};
  }
  Tensor left(const MatmulForm& form, const Size& size) {
    return random(form.transpose_a ? Shape{size.k, size.m} : Shape{size.m, size.k}, compute());
  }
  Tensor right(const MatmulForm& form, const Size& size) {
    return random(form.transpose_b ? Shape{size.n, size.k} : Shape{size.k, size.n}, compute());
  }

  void expect_product(const MatmulForm& form, const Size& size, DType result) {
    const Tensor a = left(form, size);
    const Tensor b = right(form, size);
    const Tensor c = random({size.m, size.n}, result);
    Product expected = multiply(values(a), values(b), form, size);
    if (form.accumulate) {
      const Values before = values(c);
      for (std::size_t i = 0; i < before.size(); ++i) {
        expected.sum[i] += before[i];
        expected.magnitude[i] += std::abs(before[i]);
      }
    }
    backend().matmul(form, a, b, c);
    Values tolerance;
    for (std::size_t i = 0; i < expected.sum.size(); ++i) {
      tolerance.push_back(product_tolerance(precision(), size.k + 1, expected.magnitude[i]) +
                          storage_tolerance(result, expected.sum[i]));
    }
    expect_near(c, expected.sum, tolerance);
  }
};

std::string named(const MatmulForm& form, const Size& size) {
  return std::to_string(size.m) + "x" + std::to_string(size.n) + "x" + std::to_string(size.k) +
         (form.transpose_a ? " T" : " N") + (form.transpose_b ? "T" : "N") +
         (form.accumulate ? " accumulate" : "");
}

TEST_P(MatmulTest, MultipliesInEveryForm) {
  for (const Size& size : kSizes) {
    for (int bits = 0; bits < 8; ++bits) {
      MatmulForm form = this->form((bits & 1) != 0, (bits & 2) != 0);
      form.accumulate = (bits & 4) != 0;
      for (const DType result : {compute(), master()}) {
        SCOPED_TRACE(named(form, size) + " to " + std::string(name_of(result)));
        expect_product(form, size, result);
      }
    }
  }
}

TEST_P(MatmulTest, AddsABias) {
  for (const Size& size : kSizes) {
    const MatmulForm form = this->form(false, true);
    SCOPED_TRACE(named(form, size));
    const Tensor a = left(form, size);
    const Tensor b = right(form, size);
    const Tensor bias = random({size.n}, compute());
    const Tensor c = guarded({size.m, size.n}, compute());
    Product expected = multiply(values(a), values(b), form, size);
    const Values added = values(bias);
    Values tolerance;
    for (std::size_t i = 0; i < expected.sum.size(); ++i) {
      const double addend = added[i % added.size()];
      expected.sum[i] += addend;
      tolerance.push_back(
          product_tolerance(precision(), size.k + 1, expected.magnitude[i] + std::abs(addend)) +
          storage_tolerance(compute(), expected.sum[i]));
    }
    backend().matmul(form, a, b, c, {.bias = bias});
    expect_near(c, expected.sum, tolerance);
  }
}

/// A layer forward with bias and activation, then the gradient below it times that activation's
/// derivative, both against the same definition.
class MatmulActivationTest : public MatmulTest {
 protected:
  void expect_layer(Activation activation, const Size& size) {
    const MatmulForm form = this->form(false, true);
    const Tensor x = left(form, size);
    const Tensor w = right(form, size);
    const Tensor bias = random({size.n}, compute());
    const Tensor y = guarded({size.m, size.n}, compute());
    const Tensor saved = backend().allocate_saved(activation, size.m, size.n, compute());
    backend().matmul(form, x, w, y, {.bias = bias, .activation = activation, .saved = saved});

    const Values added = values(bias);
    Product input = multiply(values(x), values(w), form, size);
    Values uncertain;  // how far the device's argument of the activation may be from ours
    Values expected;
    Values tolerance;
    for (std::size_t i = 0; i < input.sum.size(); ++i) {
      const double addend = added[i % added.size()];
      input.sum[i] += addend;
      uncertain.push_back(
          product_tolerance(precision(), size.k + 1, input.magnitude[i] + std::abs(addend)));
      expected.push_back(activation_value(activation, input.sum[i]));
      tolerance.push_back(activation_tolerance(activation, compute(), input.sum[i], uncertain[i]) +
                          storage_tolerance(compute(), expected[i]));
    }
    expect_near(y, expected, tolerance);
    expect_gradient(activation, size, saved, input.sum, uncertain);
  }

  void expect_gradient(Activation activation, const Size& size, Tensor saved, const Values& input,
                       const Values& uncertain) {
    const MatmulForm form = this->form(false, false);
    const Tensor dz = left(form, size);
    const Tensor w = right(form, size);
    const Tensor dx = guarded({size.m, size.n}, compute());
    backend().matmul(form, dz, w, dx, {.gradient_of = activation, .gradient_saved = saved});

    Product expected = multiply(values(dz), values(w), form, size);
    Values tolerance;
    for (std::size_t i = 0; i < expected.sum.size(); ++i) {
      const double error = product_tolerance(precision(), size.k, expected.magnitude[i]);
      const double dx_saved = uncertain[i] + storage_tolerance(compute(), input[i]);
      const double slope = activation_slope(activation, input[i]);
      double slope_error = slope_tolerance(activation, compute(), input[i], dx_saved);
      // Where the argument may have either sign, so may ReLU's slope be 0 or 1.
      if (activation == Activation::relu && std::abs(input[i]) <= uncertain[i]) slope_error = 1;
      const double product = std::abs(expected.sum[i]);
      expected.sum[i] *= slope;
      tolerance.push_back((std::abs(slope) + slope_error) * error + product * slope_error +
                          arithmetic_roundoff(compute()) * product +
                          storage_tolerance(compute(), expected.sum[i]));
    }
    expect_near(dx, expected.sum, tolerance);
  }
};

TEST_P(MatmulActivationTest, FusesReluBothWays) {
  for (const Size& size : kSizes) {
    SCOPED_TRACE(named({}, size));
    expect_layer(Activation::relu, size);
  }
}

TEST_P(MatmulActivationTest, FusesGeluBothWays) {
  for (const Size& size : kSizes) {
    SCOPED_TRACE(named({}, size));
    expect_layer(Activation::gelu, size);
  }
}

// What a matmul saved, a separate backward pass reads, and the other way round.
TEST_P(MatmulActivationTest, SharesWhatIsSavedWithTheSeparatePass) {
  constexpr Size kSize{33, 70, 17};
  const MatmulForm form = this->form(false, true);
  for (const Activation activation : kActivations) {
    const Tensor x = left(form, kSize);
    const Tensor w = right(form, kSize);
    const Tensor fused = guarded({kSize.m, kSize.n}, compute());
    const Tensor saved = backend().allocate_saved(activation, kSize.m, kSize.n, compute());
    backend().matmul(form, x, w, fused, {.activation = activation, .saved = saved});
    const Tensor ones = guarded({kSize.m, kSize.n}, compute(), Values(33 * 70, 1.0));
    backend().activation_backward(activation, saved, ones);

    const Tensor separate = guarded({kSize.m, kSize.n}, compute());
    const Tensor saved_there = backend().allocate_saved(activation, kSize.m, kSize.n, compute());
    backend().matmul(form, x, w, separate);
    const Values input = values(separate);
    backend().activation_forward(activation, separate, saved_there);
    const Tensor identity = guarded({kSize.m, kSize.m}, compute(), Values(33 * 33, 0.0));
    Values diagonal(33 * 33, 0.0);
    for (std::size_t i = 0; i < 33; ++i) diagonal[i * 34] = 1;
    write_values(backend(), identity, diagonal);
    const Tensor all_ones = guarded({kSize.m, kSize.n}, compute(), Values(33 * 70, 1.0));
    const Tensor product = guarded({kSize.m, kSize.n}, compute());
    backend().matmul({.math = precision().math}, identity, all_ones, product,
                     {.gradient_of = activation, .gradient_saved = saved_there});

    // Both are slopes, up to 1.13, at arguments that differ by a rounding to the compute type (and,
    // in tf32 and on matrix units, nothing else: the sums are the same).
    const Values slopes = values(product);
    Values tolerance;
    for (std::size_t i = 0; i < slopes.size(); ++i) {
      const double moved = storage_tolerance(compute(), input[i]) +
                           product_tolerance(precision(), kSize.k, static_cast<double>(kSize.k));
      const bool either = activation == Activation::relu && std::abs(input[i]) <= moved;
      tolerance.push_back(either ? 1
                                 : 2 * slope_tolerance(activation, compute(), input[i], moved) +
                                       2 * storage_tolerance(compute(), 1.13));
    }
    expect_near(ones, slopes, tolerance);
  }
}

TEST_P(MatmulActivationTest, LeavesOutWhatIsNotSaved) {
  constexpr Size kSize{17, 33, 9};
  const MatmulForm form = this->form(false, true);
  for (const Activation activation : kActivations) {
    const Tensor x = left(form, kSize);
    const Tensor w = right(form, kSize);
    const Tensor kept = guarded({kSize.m, kSize.n}, compute());
    const Tensor bare = guarded({kSize.m, kSize.n}, compute());
    const Tensor saved = backend().allocate_saved(activation, kSize.m, kSize.n, compute());
    backend().matmul(form, x, w, kept, {.activation = activation, .saved = saved});
    backend().matmul(form, x, w, bare, {.activation = activation});
    const Values expected = values(kept);
    Values tolerance;
    // Other kernels may serve the two: twice the error of one.
    for (const double value : expected) {
      const double sum = product_tolerance(precision(), kSize.k, static_cast<double>(kSize.k));
      tolerance.push_back(2 * (activation_tolerance(activation, compute(), 9, sum) +
                               storage_tolerance(compute(), value)));
    }
    expect_near(bare, expected, tolerance);
  }
}

TEST_P(MatmulTest, SumsTheBiasGradient) {
  for (const Size& size : kSizes) {
    for (const bool transpose_a : {true, false}) {
      const MatmulForm form = this->form(transpose_a, false);
      SCOPED_TRACE(named(form, size));
      const Tensor a = left(form, size);
      const Tensor b = right(form, size);
      const Tensor c = guarded({size.m, size.n}, master());
      const Tensor bias_gradient = guarded({size.m}, master());
      backend().matmul(form, a, b, c, {.bias_gradient = bias_gradient});

      const auto expect = [&](const Tensor& tensor, const Product& expected) {
        Values tolerance;
        for (std::size_t i = 0; i < expected.sum.size(); ++i) {
          tolerance.push_back(product_tolerance(precision(), size.k, expected.magnitude[i]) +
                              storage_tolerance(master(), expected.sum[i]));
        }
        expect_near(tensor, expected.sum, tolerance);
      };
      expect(c, multiply(values(a), values(b), form, size));
      expect(bias_gradient, row_sums(values(a), form, size));
    }
  }
}

// Operands whose products and sums are exact in every type: nothing may be lost.
TEST_P(MatmulTest, IsExactOnSmallIntegers) {
  constexpr Size kSize{33, 65, 40};
  const MatmulForm form = this->form(false, false);
  Values a;
  Values b;
  for (std::int64_t i = 0; i < kSize.m * kSize.k; ++i) a.push_back(static_cast<double>(i % 5 - 2));
  for (std::int64_t i = 0; i < kSize.k * kSize.n; ++i) b.push_back(static_cast<double>(i % 3 - 1));
  const Tensor c = guarded({kSize.m, kSize.n}, compute());
  backend().matmul(form, guarded({kSize.m, kSize.k}, compute(), a),
                   guarded({kSize.k, kSize.n}, compute(), b), c);
  expect_equal(c, multiply(a, b, form, kSize).sum);
}

TEST_P(MatmulTest, GivesTheSameBitsTwice) {
  constexpr Size kSize{130, 70, 257};
  for (const bool transpose : {false, true}) {
    const MatmulForm form = this->form(transpose, transpose);
    const Tensor a = left(form, kSize);
    const Tensor b = right(form, kSize);
    const Tensor first = guarded({kSize.m, kSize.n}, compute());
    const Tensor second = guarded({kSize.m, kSize.n}, compute());
    backend().matmul(form, a, b, first);
    backend().matmul(form, a, b, second);
    expect_equal(second, values(first));
  }
}

TEST_P(MatmulTest, NamesWhatServedIt) {
  backend().matmul(this->form(false, true), random({3, 5}, compute()), random({4, 5}, compute()),
                   guarded({3, 4}, compute()));
  bool found = false;
  for (const Served& served : backend().served()) {
    found = found || (served.operation.find("matmul 3x4x5 NT") == 0 && !served.provider.empty());
  }
  EXPECT_TRUE(found);
}

INSTANTIATE_TEST_SUITE_P(Devices, MatmulTest,
                         testing::ValuesIn(op_params(test_devices_by_provider())), param_name);
INSTANTIATE_TEST_SUITE_P(Devices, MatmulActivationTest,
                         testing::ValuesIn(op_params(test_devices_by_provider())), param_name);

}  // namespace
}  // namespace trainbench
