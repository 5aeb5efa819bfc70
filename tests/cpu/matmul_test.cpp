#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "common/check/bounds.h"
#include "common/core/philox.h"
#include "common/host_values.h"
#include "cpu/cpu_backend.h"
#include "cpu/providers.h"

namespace trainbench {
namespace {

struct Size {
  std::int64_t m, n, k;
};

// Odd sizes, single rows and columns, and one past a 512-wide block.
constexpr Size kSizes[] = {{1, 1, 1},   {3, 5, 7},   {17, 33, 65},
                           {1, 70, 19}, {70, 1, 19}, {5, 600, 3}};

std::vector<double> random_values(std::int64_t count, std::uint64_t stream, DType dtype) {
  const Philox random(3, stream);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = rounded_to(dtype, random.uniform(i, -1, 1));
  }
  return values;
}

Tensor device_tensor(Backend& backend, Shape shape, DType dtype, const std::vector<double>& from) {
  const Tensor tensor = backend.allocate(shape, dtype, MemoryKind::workspace);
  write_values(backend, tensor, from);
  return tensor;
}

/// A product on the device and the same in plain double loops.
class Product {
 public:
  Product(Backend& backend, Size size, MatmulForm form, DType operands, DType result)
      : backend_(backend), size_(size), form_(form), operands_(operands), result_(result) {
    const auto [m, n, k] = size;
    a_values_ = random_values(m * k, 1, operands);
    b_values_ = random_values(k * n, 2, operands);
    c_values_ = random_values(m * n, 3, result);
    bias_values_ = random_values(n, 4, result);
    a_ = device_tensor(backend, form.transpose_a ? Shape{k, m} : Shape{m, k}, operands, a_values_);
    b_ = device_tensor(backend, form.transpose_b ? Shape{n, k} : Shape{k, n}, operands, b_values_);
    c_ = backend.allocate(Shape{m, n}, result, MemoryKind::workspace);
    bias_ = device_tensor(backend, Shape{n}, result, bias_values_);
  }

  /// From the same C each time.
  void run(const MatmulEpilogue& epilogue) {
    write_values(backend_, c_, c_values_);
    backend_.matmul(form_, a_, b_, c_, epilogue);
  }

  double a(std::int64_t row, std::int64_t i) const {
    return at(a_values_, form_.transpose_a ? i * size_.m + row : row * size_.k + i);
  }
  double b(std::int64_t i, std::int64_t column) const {
    return at(b_values_, form_.transpose_b ? column * size_.k + i : i * size_.n + column);
  }

  /// op(A) op(B), plus C and the bias where they are added.
  Expected sum(std::int64_t row, std::int64_t column, bool with_bias) const {
    double value = 0;
    double magnitude = 0;
    const auto add = [&](double term) {
      value += term;
      magnitude += std::abs(term);
    };
    for (std::int64_t i = 0; i < size_.k; ++i) add(a(row, i) * b(i, column));
    if (form_.accumulate) add(at(c_values_, row * size_.n + column));
    if (with_bias) add(at(bias_values_, column));
    return {value, product_error(size_.k + 2, operands_, MathMode::exact, magnitude)};
  }

  /// Compares C with f(sum, index), where |df/dsum| <= slope and f's arithmetic adds a relative
  /// error `own`.
  template <class F>
  void expect(bool with_bias, double slope, double own, const F& f) const {
    const std::vector<double> actual = read_values(backend_, c_);
    for (std::int64_t row = 0; row < size_.m; ++row) {
      for (std::int64_t column = 0; column < size_.n; ++column) {
        const std::int64_t index = row * size_.n + column;
        const Expected exact = sum(row, column, with_bias);
        const double value = f(exact.value, index);
        const double bound =
            slope * exact.bound + own * std::abs(value) + rounding_error(result_, value);
        ASSERT_NEAR(at(actual, index), value, bound) << "row " << row << ", column " << column;
      }
    }
  }

  Tensor bias() const { return bias_; }

 private:
  static double at(const std::vector<double>& values, std::int64_t index) {
    return values[static_cast<std::size_t>(index)];
  }

  Backend& backend_;
  Size size_;
  MatmulForm form_;
  DType operands_;
  DType result_;
  std::vector<double> a_values_, b_values_, c_values_, bias_values_;
  Tensor a_, b_, c_, bias_;
};

double gelu(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

double gelu_slope(double x) {
  const double t = std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
  return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * std::sqrt(2 / M_PI) * (1 + 3 * 0.044715 * x * x);
}

/// The steepest that ReLU and GELU get is 1.13.
constexpr double kSteepest = 1.13;

struct Types {
  DType operands;
  DType result;
};

/// Provider and dtypes.
class CpuMatmul : public testing::TestWithParam<std::tuple<std::string, Types>> {
 protected:
  CpuMatmul()
      : backend_(make_cpu_backend({2, std::get<0>(GetParam())})),
        operands_(std::get<1>(GetParam()).operands),
        result_(std::get<1>(GetParam()).result) {}

  /// An activation is fewer than 16 roundings of values near its result's size, after its argument
  /// was rounded for the backward pass.
  double activation_error() const { return 16 * unit_roundoff(accumulator_of(operands_)); }

  /// Calls `check` with a product of each size and form. A library may leave out double alone.
  template <class Check>
  void for_each_product(const Check& check) {
    for (const Size size : kSizes) {
      for (int form = 0; form < 8; ++form) {
        SCOPED_TRACE(testing::Message()
                     << size.m << "x" << size.n << "x" << size.k << " form " << form);
        Product product(*backend_, size,
                        {.transpose_a = (form & 1) != 0,
                         .transpose_b = (form & 2) != 0,
                         .accumulate = (form & 4) != 0},
                        operands_, result_);
        try {
          check(product, size);
        } catch (const Unsupported& reason) {
          ASSERT_EQ(operands_, DType::f64) << reason.what();
          GTEST_SKIP() << reason.what();
        }
        if (HasFatalFailure()) return;
      }
    }
  }

  std::unique_ptr<Backend> backend_;
  DType operands_;
  DType result_;
};

TEST_P(CpuMatmul, ProductsOfAllForms) {
  for_each_product([](Product& product, Size) {
    product.run({});
    product.expect(false, 1, 0, [](double x, std::int64_t) { return x; });
  });
}

TEST_P(CpuMatmul, BiasAndActivationWithoutAndWithABackwardPass) {
  for_each_product([this](Product& product, Size size) {
    for (const Activation activation : {Activation::none, Activation::relu, Activation::gelu}) {
      for (const bool training : {false, true}) {
        const Tensor saved =
            training ? backend_->allocate_saved(activation, size.m, size.n, result_) : Tensor{};
        product.run({.bias = product.bias(), .activation = activation, .saved = saved});
        product.expect(true, kSteepest, activation_error(), [&](double x, std::int64_t) {
          if (activation == Activation::none) return x;
          return activation == Activation::relu ? std::max(x, 0.0) : gelu(x);
        });
      }
    }
  });
}

TEST_P(CpuMatmul, MultipliesByTheDerivativeOfWhatWasSaved) {
  for_each_product([this](Product& product, Size size) {
    for (const Activation activation : {Activation::relu, Activation::gelu}) {
      const std::vector<double> argument = random_values(size.m * size.n, 5, result_);
      const Tensor x = device_tensor(*backend_, Shape{size.m, size.n}, result_, argument);
      const Tensor saved = backend_->allocate_saved(activation, size.m, size.n, result_);
      backend_->activation_forward(activation, x, saved);
      product.run({.gradient_of = activation, .gradient_saved = saved});
      product.expect(false, kSteepest, activation_error(), [&](double sum, std::int64_t index) {
        const double at = argument[static_cast<std::size_t>(index)];
        return sum * (activation == Activation::relu ? (at > 0 ? 1 : 0) : gelu_slope(at));
      });
    }
  });
}

TEST_P(CpuMatmul, BiasGradientIsTheSumOfEachRow) {
  for_each_product([this](Product& product, Size size) {
    const Tensor sums = backend_->allocate(Shape{size.m}, result_, MemoryKind::workspace);
    product.run({.bias_gradient = sums});
    const std::vector<double> actual = read_values(*backend_, sums);
    for (std::int64_t row = 0; row < size.m; ++row) {
      double sum = 0;
      double magnitude = 0;
      for (std::int64_t i = 0; i < size.k; ++i) {
        sum += product.a(row, i);
        magnitude += std::abs(product.a(row, i));
      }
      const double bound = summation_error(size.k, accumulator_of(operands_), magnitude) +
                           rounding_error(result_, sum);
      ASSERT_NEAR(actual[static_cast<std::size_t>(row)], sum, bound) << "row " << row;
    }
  });
}

std::vector<std::string> provider_names() {
  std::vector<std::string> names{"auto", "naive", "openmp"};
  for (const auto& [name, version] : cpu_providers()) names.push_back(name);
  return names;
}

constexpr Types kTypes[] = {{DType::f32, DType::f32},   {DType::f64, DType::f64},
                            {DType::bf16, DType::bf16}, {DType::bf16, DType::f32},
                            {DType::f16, DType::f16},   {DType::f16, DType::f32}};

INSTANTIATE_TEST_SUITE_P(AllProviders, CpuMatmul,
                         testing::Combine(testing::ValuesIn(provider_names()),
                                          testing::ValuesIn(kTypes)),
                         [](const auto& tested) {
                           const Types types = std::get<1>(tested.param);
                           return std::get<0>(tested.param) + "_" +
                                  std::string(name_of(types.operands)) + "_to_" +
                                  std::string(name_of(types.result));
                         });

TEST(CpuProviders, AnUnknownNameIsBadInputThatListsTheKnown) {
  try {
    make_cpu_backend({1, "mkl"});
    FAIL() << "no provider is called mkl";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("\"mkl\""), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("eigen"), std::string::npos) << error.what();
  }
}

TEST(CpuProviders, ServedNamesTheLibraryOfEachProduct) {
  for (const auto& [name, version] : cpu_providers()) {
    const auto backend = make_cpu_backend({1, name});
    Product product(*backend, {4, 6, 8}, {.transpose_b = true}, DType::f32, DType::f32);
    product.run({});
    const std::vector<Served> served = backend->served();
    ASSERT_EQ(served.size(), 1u);
    EXPECT_EQ(served[0].operation, "matmul 4x6x8 NT f32");
    EXPECT_EQ(served[0].provider, name);
    EXPECT_FALSE(version.empty());
  }
}

TEST(CpuProviders, Tf32IsNotServed) {
  const auto backend = make_cpu_backend({1, "auto"});
  Product product(*backend, {4, 6, 8}, {.math = MathMode::tf32}, DType::f32, DType::f32);
  EXPECT_THROW(product.run({}), Unsupported);
  EXPECT_THROW(backend->require_precision(kTf32), Unsupported);
}

}  // namespace
}  // namespace trainbench
