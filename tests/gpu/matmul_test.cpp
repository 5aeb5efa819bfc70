#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "common/check/check_backend.h"
#include "gpu/cuda_backend.h"
#include "tests/gpu/device_values.h"

namespace trainbench {
namespace {

struct Sizes {
  std::int64_t m, n, k;
};

// Rows of 10 halves are no multiple of 16 bytes; 136 columns fill the ReLU mask's rows in part.
constexpr Sizes kSizes[] = {{1, 1, 1}, {3, 5, 7}, {32, 10, 96}, {33, 65, 127}, {16, 136, 64}};

using Param = std::tuple<std::string, Precision>;

class MatmulOf : public testing::TestWithParam<Param> {
 protected:
  const std::string& provider() const { return std::get<0>(GetParam()); }
  const Precision& precision() const { return std::get<1>(GetParam()); }
  DType dtype() const { return precision().compute; }
  DType master() const { return precision().master; }
  Tensor make(std::int64_t rows, std::int64_t columns, std::uint64_t stream, DType type) {
    return random_tensor(*backend_, Shape{rows, columns}, type, stream, offset_);
  }
  Tensor make(std::int64_t rows, std::int64_t columns, std::uint64_t stream) {
    return make(rows, columns, stream, dtype());
  }
  MatmulForm form(bool transpose_a, bool transpose_b, bool accumulate = false) const {
    return {transpose_a, transpose_b, accumulate, precision().math};
  }
  void expect_right() const {
    const CheckSummary summary = check_.summary();
    EXPECT_TRUE(summary.passed) << summary.worst;
    EXPECT_GT(summary.outputs, 0);
  }

  std::unique_ptr<Backend> backend_ = make_cuda_backend({.provider = provider()});
  CheckBackend check_{*backend_};
  std::int64_t offset_ = 0;
};

TEST_P(MatmulOf, EveryFormIsRight) {
  for (const auto& [m, n, k] : kSizes) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        const Tensor a = ta ? make(k, m, 1) : make(m, k, 1);
        const Tensor b = tb ? make(n, k, 2) : make(k, n, 2);
        check_.matmul(form(ta, tb), a, b, make(m, n, 3), {});
        check_.matmul(form(ta, tb, true), a, b, make(m, n, 3, master()), {});
        const Tensor bias_gradient = random_tensor(*backend_, Shape{m}, master(), 4);
        check_.matmul(form(ta, tb), a, b, make(m, n, 3, master()),
                      {.bias_gradient = bias_gradient});
      }
    }
  }
  expect_right();
}

TEST_P(MatmulOf, MisalignedOperandsAreRight) {
  offset_ = 1;
  const Tensor a = make(32, 48, 1);
  const Tensor b = make(40, 48, 2);
  check_.matmul(form(false, true), a, b, make(32, 40, 3),
                {.bias = random_tensor(*backend_, Shape{40}, dtype(), 4, 1)});
  expect_right();
}

// The forward pass may be fused and its backward pass not, and the other way round: what is saved
// must read the same for both.
TEST_P(MatmulOf, FusedAndSeparateActivationsMix) {
  for (const Activation activation : kActivations) {
    for (const auto& [m, n, k] : kSizes) {
      const Tensor a = make(m, k, 1);
      const Tensor b = make(n, k, 2);
      const Tensor bias = random_tensor(*backend_, Shape{n}, dtype(), 4);
      const Tensor dz = make(m, 6, 5);
      const Tensor w = make(6, n, 6);
      for (const bool fused_forward : {true, false}) {
        const Tensor y = make(m, n, 3);
        const Tensor saved = backend_->allocate_saved(activation, m, n, dtype());
        if (fused_forward) {
          check_.matmul(form(false, true), a, b, y,
                        {.bias = bias, .activation = activation, .saved = saved});
        } else {
          check_.matmul(form(false, true), a, b, y, {});
          check_.add_bias(y, bias);
          check_.activation_forward(activation, y, saved);
        }
        const Tensor dx = make(m, n, 7);
        check_.matmul(form(false, false), dz, w, dx,
                      {.gradient_of = activation, .gradient_saved = saved});
        check_.matmul(form(false, false), dz, w, dx, {});
        check_.activation_backward(activation, saved, dx);
      }
      // Without a backward pass nothing is saved.
      check_.matmul(form(false, true), a, b, make(m, n, 3),
                    {.bias = bias, .activation = activation});
    }
  }
  expect_right();
}

TEST_P(MatmulOf, ServedSaysWhatOurKernelsDid) {
  const Tensor saved = backend_->allocate_saved(Activation::relu, 32, 64, dtype());
  backend_->matmul(form(false, true), make(32, 16, 1), make(64, 16, 2), make(32, 64, 3),
                   {.bias = random_tensor(*backend_, Shape{64}, dtype(), 4),
                    .activation = Activation::relu,
                    .saved = saved});
  const std::vector<Served> served = backend_->served();
  ASSERT_EQ(served.size(), 1u);
  const std::string type = precision() == kTf32 ? "tf32" : std::string(name_of(dtype()));
  EXPECT_EQ(served[0].operation, "matmul 32x64x16 NT " + type + " bias+relu");
  const std::string vendor =
      dtype() == DType::f64 ? "cublaslt, own kernels for bias+relu" : "cublaslt";
  EXPECT_EQ(served[0].provider, provider() == "own" ? "own kernel" : vendor);
}

// More tiles than the device has units, and few tiles of a sum that is divided among the units.
TEST_P(MatmulOf, LargeProductsAreRight) {
  for (const auto& [m, n, k] : {Sizes{1480, 1544, 40}, Sizes{136, 88, 17000}}) {
    if (dtype() == DType::f64 && m > 1000) continue;  // has the small tile alone
    for (const bool transpose : {false, true}) {
      const Tensor a = transpose ? make(k, m, 1) : make(m, k, 1);
      const Tensor b = transpose ? make(n, k, 2) : make(k, n, 2);
      const Tensor c = make(m, n, 3);
      const Tensor saved = backend_->allocate_saved(Activation::relu, m, n, dtype());
      check_.matmul(form(transpose, transpose), a, b, c,
                    {.bias = random_tensor(*backend_, Shape{n}, dtype(), 4),
                     .activation = Activation::relu,
                     .saved = saved});
      check_.matmul(form(!transpose, transpose), transpose ? make(m, k, 5) : make(k, m, 5), b, c,
                    {.gradient_of = Activation::relu, .gradient_saved = saved});
    }
  }
  expect_right();
}

// Heads side by side in a row, as attention has them, in whole vectors.
TEST_P(MatmulOf, BatchesOfAlignedMatricesAreRight) {
  constexpr MatmulBatch kBatch{72, 40, 24, 2, 3};
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const auto side_by_side = [&](std::int64_t rows, std::int64_t columns, std::uint64_t stream) {
        const std::int64_t row = columns * kBatch.inner;
        return Matrices{make(kBatch.outer * rows, row, stream), 0, row, rows * row, columns};
      };
      const Matrices a =
          ta ? side_by_side(kBatch.k, kBatch.m, 1) : side_by_side(kBatch.m, kBatch.k, 1);
      const Matrices b =
          tb ? side_by_side(kBatch.n, kBatch.k, 2) : side_by_side(kBatch.k, kBatch.n, 2);
      const auto read = [](const Matrices& x) {
        return ConstMatrices{x.tensor, x.offset, x.row_stride, x.outer_stride, x.inner_stride};
      };
      check_.matmul_batched(form(ta, tb), kBatch, read(a), read(b),
                            side_by_side(kBatch.m, kBatch.n, 3));
    }
  }
  expect_right();
}

TEST(GpuProvider, AnUnknownNameIsBadInput) {
  try {
    make_cuda_backend({.provider = "cublas"});
    FAIL() << "a provider of that name";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "no GPU provider \"cublas\"; there are auto, vendor, own");
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, MatmulOf,
                         testing::Combine(testing::Values("vendor", "own"),
                                          testing::ValuesIn(kPrecisions)),
                         [](const auto& test) {
                           return std::get<0>(test.param) + "_" +
                                  std::string(std::get<1>(test.param).name);
                         });

}  // namespace
}  // namespace trainbench
