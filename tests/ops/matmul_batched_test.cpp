#include "tests/ops/op_test.h"

namespace trainbench {
namespace {

class MatmulBatchedTest : public OpTest {};

TEST_P(MatmulBatchedTest, ProductsFollowTheDefinition) {
  const MatmulBatch sizes[] = {{1, 1, 1, 1, 1}, {5, 7, 3, 2, 3}, {66, 20, 130, 1, 2}};
  for (const MatmulBatch& e : sizes) {
    for (int form = 0; form < 8; ++form) {
      const bool transpose_a = form & 1, transpose_b = form & 2, accumulate = form & 4;
      // Matrices of a row of `inner` ones side by side, as heads lie.
      const std::int64_t a_row = (transpose_a ? e.m : e.k) * e.inner + 2;
      const std::int64_t b_row = (transpose_b ? e.k : e.n) * e.inner + 2;
      const std::int64_t c_row = e.n * e.inner + 2;
      const std::int64_t a_rows = transpose_a ? e.k : e.m;
      const std::int64_t b_rows = transpose_b ? e.n : e.k;
      const Tensor a = random({e.outer, a_rows, a_row}, compute());
      const Tensor b = random({e.outer, b_rows, b_row}, compute());
      const Tensor c = random({e.outer, e.m, c_row}, compute());
      const Values left = values(a), right = values(b);
      Values expected = values(c);
      Values tolerance(expected.size(), 0);
      const auto at = [](const Values& x, std::int64_t i) {
        return x[static_cast<std::size_t>(i)];
      };
      for (std::int64_t outer = 0; outer < e.outer; ++outer) {
        for (std::int64_t inner = 0; inner < e.inner; ++inner) {
          for (std::int64_t i = 0; i < e.m; ++i) {
            for (std::int64_t j = 0; j < e.n; ++j) {
              const std::int64_t index = (outer * e.m + i) * c_row + 1 + inner * e.n + j;
              double sum = accumulate ? at(expected, index) : 0, magnitude = std::abs(sum);
              for (std::int64_t l = 0; l < e.k; ++l) {
                const std::int64_t a_index =
                    transpose_a ? (outer * a_rows + l) * a_row + 1 + inner * e.m + i
                                : (outer * a_rows + i) * a_row + 1 + inner * e.k + l;
                const std::int64_t b_index =
                    transpose_b ? (outer * b_rows + j) * b_row + 1 + inner * e.k + l
                                : (outer * b_rows + l) * b_row + 1 + inner * e.n + j;
                sum += at(left, a_index) * at(right, b_index);
                magnitude += std::abs(at(left, a_index) * at(right, b_index));
              }
              expected[static_cast<std::size_t>(index)] = sum;
              tolerance[static_cast<std::size_t>(index)] =
                  product_tolerance(precision(), e.k + 1, magnitude) +
                  storage_tolerance(compute(), sum);
            }
          }
        }
      }
      backend().matmul_batched({transpose_a, transpose_b, accumulate, precision().math}, e,
                               {a, 1, a_row, a_rows * a_row, transpose_a ? e.m : e.k},
                               {b, 1, b_row, b_rows * b_row, transpose_b ? e.k : e.n},
                               {c, 1, c_row, e.m * c_row, e.n});
      expect_near(c, expected, tolerance);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, MatmulBatchedTest,
                         testing::ValuesIn(op_params(test_devices_by_provider())), param_name);

}  // namespace
}  // namespace trainbench
