#include <gtest/gtest.h>

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

class MatmulOf : public testing::TestWithParam<Precision> {
 protected:
  DType dtype() const { return GetParam().compute; }
  DType master() const { return GetParam().master; }
  Tensor make(std::int64_t rows, std::int64_t columns, std::uint64_t stream, DType type) {
    return random_tensor(*backend_, Shape{rows, columns}, type, stream, offset_);
  }
  Tensor make(std::int64_t rows, std::int64_t columns, std::uint64_t stream) {
    return make(rows, columns, stream, dtype());
  }
  MatmulForm form(bool transpose_a, bool transpose_b, bool accumulate = false) const {
    return {transpose_a, transpose_b, accumulate, GetParam().math};
  }
  void expect_right() const {
    const CheckSummary summary = check_.summary();
    EXPECT_TRUE(summary.passed) << summary.worst;
    EXPECT_GT(summary.outputs, 0);
  }

  std::unique_ptr<Backend> backend_ = make_cuda_backend();
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
  for (const Activation activation : {Activation::relu, Activation::gelu}) {
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
  const std::string type = GetParam() == kTf32 ? "tf32" : std::string(name_of(dtype()));
  EXPECT_EQ(served[0].operation, "matmul 32x64x16 NT " + type + " bias+relu");
  EXPECT_EQ(served[0].provider,
            dtype() == DType::f64 ? "cublaslt, own kernels for bias+relu" : "cublaslt");
}

INSTANTIATE_TEST_SUITE_P(Gpu, MatmulOf, testing::ValuesIn(kPrecisions),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace trainbench
