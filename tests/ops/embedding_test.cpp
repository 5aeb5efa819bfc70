#include <cmath>

#include "tests/ops/op_test.h"

namespace trainbench {
namespace {

struct Sizes {
  std::int64_t batch, steps, entries, columns;
};

/// One row, odd extents, wide rows, entries with many rows and more entries than rows.
constexpr Sizes kSizes[] = {{1, 1, 1, 1},  {3, 5, 4, 7},   {2, 33, 130, 600},
                            {4, 3, 2, 65}, {4, 70, 3, 40}, {5, 130, 700, 5}};

class EmbeddingTest : public OpTest {
 protected:
  Tensor indices(const Sizes& e) {
    Values values;
    for (std::int64_t i = 0; i < e.batch * e.steps; ++i) {
      values.push_back(static_cast<double>((11 * i + 3) % e.entries));
    }
    return guarded({e.batch, e.steps}, DType::i32, values);
  }
};

TEST_P(EmbeddingTest, LooksUpRowsAndAddsPositions) {
  for (const Sizes& e : kSizes) {
    for (const bool with_positions : {false, true}) {
      const Tensor index = indices(e);
      const Tensor table = random({e.entries, e.columns}, compute());
      const Tensor positions = with_positions ? random({e.steps, e.columns}, compute()) : Tensor();
      const Tensor y = guarded({e.batch * e.steps, e.columns}, compute());
      backend().embedding(index, table, positions, y);
      const Values rows = values(index), entries = values(table);
      const Values shifts = with_positions ? values(positions) : Values();
      Values expected, tolerance;
      for (std::int64_t row = 0; row < e.batch * e.steps; ++row) {
        for (std::int64_t i = 0; i < e.columns; ++i) {
          const auto entry = static_cast<std::int64_t>(rows[static_cast<std::size_t>(row)]);
          double sum = entries[static_cast<std::size_t>(entry * e.columns + i)];
          if (with_positions) {
            sum += shifts[static_cast<std::size_t>(row % e.steps * e.columns + i)];
          }
          expected.push_back(sum);
          tolerance.push_back(with_positions ? arithmetic_roundoff(compute()) * std::abs(sum) +
                                                   storage_tolerance(compute(), sum)
                                             : 0);
        }
      }
      expect_near(y, expected, tolerance);
    }
  }
}

TEST_P(EmbeddingTest, BackwardAddsUpTheRowsOfEachEntry) {
  for (const Sizes& e : kSizes) {
    for (const bool accumulate : {false, true}) {
      const Tensor index = indices(e);
      const Tensor dy = random({e.batch * e.steps, e.columns}, compute());
      const Tensor dtable = random({e.entries, e.columns}, master());
      const Tensor dpositions = random({e.steps, e.columns}, master());
      const Values rows = values(index), slopes = values(dy);
      Values table = values(dtable);
      if (!accumulate) table.assign(table.size(), 0);
      Values positions(static_cast<std::size_t>(dpositions.elements()), 0);
      Values table_magnitude, positions_magnitude(positions.size(), 0);
      for (const double value : table) table_magnitude.push_back(std::abs(value));
      for (std::int64_t row = 0; row < e.batch * e.steps; ++row) {
        for (std::int64_t i = 0; i < e.columns; ++i) {
          const double slope = slopes[static_cast<std::size_t>(row * e.columns + i)];
          const auto entry = static_cast<std::int64_t>(rows[static_cast<std::size_t>(row)]);
          const auto to = static_cast<std::size_t>(entry * e.columns + i);
          const auto position = static_cast<std::size_t>(row % e.steps * e.columns + i);
          table[to] += slope;
          table_magnitude[to] += std::abs(slope);
          positions[position] += slope;
          positions_magnitude[position] += std::abs(slope);
        }
      }
      const auto tolerances = [&](Values magnitudes) {
        for (double& m : magnitudes) m = sum_tolerance(compute(), e.batch * e.steps, m);
        return magnitudes;
      };
      backend().embedding_backward(index, dy, accumulate, dtable, dpositions);
      expect_near(dtable, table, tolerances(table_magnitude));
      expect_near(dpositions, positions, tolerances(positions_magnitude));
      backend().embedding_backward(index, dy, false, dtable, {});
    }
  }
}

TEST_P(EmbeddingTest, AnIndexOutsideTheTableGivesNanAndNoGradient) {
  const Tensor index = guarded({3}, DType::i32, {-1, 1, 2});
  const Tensor table = guarded({2, 2}, compute(), {1, 2, 3, 4});
  const Tensor y = guarded({3, 2}, compute());
  backend().embedding(index, table, {}, y);
  expect_equal(y, {NAN, NAN, 3, 4, NAN, NAN});
  const Tensor dtable = guarded({2, 2}, master());
  backend().embedding_backward(index, guarded({3, 2}, compute(), {1, 2, 3, 4, 5, 6}), false, dtable,
                               {});
  expect_equal(dtable, {0, 0, 3, 4});
}

INSTANTIATE_TEST_SUITE_P(Devices, EmbeddingTest, testing::ValuesIn(op_params(test_devices())),
                         param_name);

}  // namespace
}  // namespace trainbench
