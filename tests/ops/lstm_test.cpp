#include <cmath>

#include "common/host_values.h"
#include "tests/ops/op_test.h"

namespace trainbench {
namespace {

struct Sizes {
  std::int64_t steps, batch, units;
};

constexpr Sizes kSizes[] = {{1, 1, 1}, {3, 5, 7}, {4, 2, 65}, {2, 3, 520}};

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// Operations are compared step by step: each of a step's results with what the device's own of the
/// step before make by the definition, so that errors do not add up over the steps.
class LstmTest : public OpTest {
 protected:
  /// Of a gate from its argument, off by `argument`: the slopes are at most 1 and the values too;
  /// an exponential of 4 u, a division and a few more roundings.
  double gate_tolerance(double argument, double value) const {
    return argument + 10 * arithmetic_roundoff(compute()) + storage_tolerance(compute(), value);
  }
  /// Of a sum of products of numbers that were stored, whose magnitudes add up to `magnitude`: each
  /// may have been used before it was rounded.
  double stored_tolerance(double magnitude) const {
    return (4 * unit_roundoff(compute()) + 30 * arithmetic_roundoff(compute())) * (magnitude + 1);
  }

  /// [gate](x) for the element i of [.., 4h].
  static double gate(std::int64_t i, std::int64_t units, double x) {
    return i / units % 4 == 2 ? std::tanh(x) : logistic(x);
  }
};

/// The element of gate `which` that belongs to element i of [.., h].
std::size_t gate_index(std::size_t i, std::size_t units, std::size_t which) {
  return (i / units * 4 + which) * units + i % units;
}

TEST_P(LstmTest, ForwardFollowsTheDefinition) {
  for (const Sizes& e : kSizes) {
    for (const bool in_place : {false, true}) {
      const Shape gate_shape{e.steps, e.batch, 4 * e.units};
      const Shape cell_shape{e.steps, e.batch, e.units};
      const Tensor inputs = random(gate_shape, compute(), -2, 2);
      const Tensor weights = random({4 * e.units, e.units}, compute());
      const LstmTrace trace{.gates = in_place ? inputs : guarded(gate_shape, compute()),
                            .cells = guarded(cell_shape, master()),
                            .hidden = guarded(cell_shape, compute())};
      const Values given = values(inputs), matrix = values(weights);
      backend().lstm(inputs, weights, trace, precision().math);
      const Values gates = values(trace.gates), cells = values(trace.cells);
      const Values hidden = values(trace.hidden);

      const auto units = static_cast<std::size_t>(e.units);
      const std::size_t step = static_cast<std::size_t>(e.batch) * units;
      Values expected, tolerance;
      for (std::size_t i = 0; i < gates.size(); ++i) {
        double sum = given[i], magnitude = std::abs(given[i]);
        const std::size_t row = i / (4 * units), column = i % (4 * units);
        for (std::size_t k = 0; k < units && row * units >= step; ++k) {
          const double term = hidden[row * units - step + k] * matrix[column * units + k];
          sum += term;
          magnitude += std::abs(term);
        }
        expected.push_back(gate(static_cast<std::int64_t>(i), e.units, sum));
        tolerance.push_back(gate_tolerance(product_tolerance(precision(), e.units + 1, magnitude) +
                                               storage_tolerance(compute(), sum),
                                           expected.back()));
      }
      expect_near(trace.gates, expected, tolerance);

      Values cell, cell_tolerance, output, output_tolerance;
      for (std::size_t i = 0; i < cells.size(); ++i) {
        const auto at = [&](std::size_t which) { return gates[gate_index(i, units, which)]; };
        const double previous = i >= step ? cells[i - step] : 0;
        cell.push_back(at(1) * previous + at(0) * at(2));
        cell_tolerance.push_back(stored_tolerance(std::abs(previous) + std::abs(at(2))));
        output.push_back(at(3) * std::tanh(cells[i]));
        output_tolerance.push_back(stored_tolerance(1));
      }
      expect_near(trace.cells, cell, cell_tolerance);
      expect_near(trace.hidden, output, output_tolerance);
    }
  }
}

/// What the passes over one step's cell must give: dgates and dcells.
struct CellSlopes {
  double gates[4];
  double cell;  ///< of the step before
};

CellSlopes cell_slopes(const double (&gate)[4], double cell, double previous, double dhidden,
                       double dcell) {
  const double squashed = std::tanh(cell);
  const double slope = dcell + dhidden * gate[3] * (1 - squashed * squashed);
  return {{slope * gate[2] * gate[0] * (1 - gate[0]), slope * previous * gate[1] * (1 - gate[1]),
           slope * gate[0] * (1 - gate[2] * gate[2]), dhidden * squashed * gate[3] * (1 - gate[3])},
          slope * gate[1]};
}

TEST_P(LstmTest, BackwardFollowsTheDefinition) {
  for (const Sizes& e : kSizes) {
    const Shape gate_shape{e.steps, e.batch, 4 * e.units};
    const Shape cell_shape{e.steps, e.batch, e.units};
    const Tensor weights = random({4 * e.units, e.units}, compute(), -0.1, 0.1);
    const LstmTrace trace{.gates = random(gate_shape, compute(), 0, 1),
                          .cells = random(cell_shape, master(), -2, 2),
                          .hidden = random(cell_shape, compute())};
    const Tensor dhidden = random(cell_shape, compute());
    const Tensor dgates = guarded(gate_shape, compute());
    const Values matrix = values(weights), above = values(dhidden);
    const Values gates = values(trace.gates), cells = values(trace.cells);
    backend().lstm_backward(weights, trace, dhidden, dgates, precision().math);

    const auto units = static_cast<std::size_t>(e.units);
    const std::size_t step = static_cast<std::size_t>(e.batch) * units;
    const Values slopes = values(dgates), changed = values(dhidden);
    Values expected, tolerance;
    for (std::size_t i = 0; i < changed.size(); ++i) {
      double sum = above[i], magnitude = std::abs(above[i]);
      for (std::size_t k = 0; k < 4 * units && i + step < changed.size(); ++k) {
        const double term =
            slopes[(i + step) / units * 4 * units + k] * matrix[k * units + i % units];
        sum += term;
        magnitude += std::abs(term);
      }
      expected.push_back(sum);
      tolerance.push_back(product_tolerance(precision(), 4 * e.units + 1, magnitude) +
                          storage_tolerance(compute(), sum));
    }
    expect_near(dhidden, expected, tolerance);

    Values dgate(slopes.size()), dgate_tolerance(slopes.size()), dcell(step, 0);
    for (std::size_t i = changed.size(); i-- > 0;) {
      double gate[4];
      for (std::size_t k = 0; k < 4; ++k) gate[k] = gates[gate_index(i, units, k)];
      const CellSlopes right =
          cell_slopes(gate, cells[i], i >= step ? cells[i - step] : 0, changed[i], dcell[i % step]);
      // A gradient by a cell is a sum over the steps above, each term below 3.
      for (std::size_t k = 0; k < 4; ++k) {
        dgate[gate_index(i, units, k)] = right.gates[k];
        dgate_tolerance[gate_index(i, units, k)] =
            stored_tolerance(3.0 * static_cast<double>(e.steps));
      }
      dcell[i % step] = right.cell;
    }
    expect_near(dgates, dgate, dgate_tolerance);
  }
}

TEST_P(LstmTest, ACellsStepFollowsTheDefinition) {
  for (const Sizes& e : kSizes) {
    for (const bool first : {true, false}) {
      const Shape shape{e.batch, e.units};
      const Tensor gates = random({e.batch, 4 * e.units}, compute(), -2, 2);
      const Tensor previous = first ? Tensor() : random(shape, master());
      const Tensor cells = guarded(shape, master());
      const Tensor hidden = guarded(shape, compute());
      const Values arguments = values(gates);
      const Values before =
          first ? Values(static_cast<std::size_t>(shape.elements()), 0) : values(previous);
      backend().lstm_cell(gates, previous, cells, hidden);
      Values gate_values, gate_tolerances, cell, cell_tolerance, output;
      for (std::size_t i = 0; i < arguments.size(); ++i) {
        gate_values.push_back(gate(static_cast<std::int64_t>(i), e.units, arguments[i]));
        gate_tolerances.push_back(gate_tolerance(0, gate_values.back()));
      }
      expect_near(gates, gate_values, gate_tolerances);
      const auto units = static_cast<std::size_t>(e.units);
      for (std::size_t i = 0; i < before.size(); ++i) {
        const auto at = [&](std::size_t which) { return gate_values[gate_index(i, units, which)]; };
        cell.push_back(at(1) * before[i] + at(0) * at(2));
        output.push_back(at(3) * std::tanh(cell.back()));
        cell_tolerance.push_back(stored_tolerance(1));
      }
      expect_near(cells, cell, cell_tolerance);
      expect_near(hidden, output, cell_tolerance);

      const Tensor dhidden = random(shape, compute());
      const Tensor dcells = random(shape, master());
      const Tensor dgates = guarded({e.batch, 4 * e.units}, compute());
      const Values after = values(gates), now = values(cells);
      const Values above = values(dhidden), given = values(dcells);
      backend().lstm_cell_backward(gates, previous, cells, dhidden, dcells, dgates);
      Values dgate(after.size()), dcell;
      for (std::size_t i = 0; i < before.size(); ++i) {
        double gate[4];
        for (std::size_t k = 0; k < 4; ++k) gate[k] = after[gate_index(i, units, k)];
        const CellSlopes right = cell_slopes(gate, now[i], before[i], above[i], given[i]);
        for (std::size_t k = 0; k < 4; ++k) dgate[gate_index(i, units, k)] = right.gates[k];
        dcell.push_back(right.cell);
      }
      expect_near(dgates, dgate, Values(dgate.size(), stored_tolerance(3)));
      expect_near(dcells, dcell, Values(dcell.size(), stored_tolerance(3)));
    }
  }
}

// No exponential overflows: the gates are shut or open.
TEST_P(LstmTest, LargeArgumentsSaturate) {
  const Tensor gates = guarded({1, 8}, compute(), {200, -200, 200, -200, 200, -200, 200, -200});
  const Tensor cells = guarded({1, 2}, master());
  const Tensor hidden = guarded({1, 2}, compute());
  backend().lstm_cell(gates, {}, cells, hidden);
  const double tolerance = gate_tolerance(0, 1);
  expect_near(gates, {1, 0, 1, 0, 1, -1, 1, 0}, Values(8, tolerance));
  expect_near(cells, {1, 0}, Values(2, tolerance));
  expect_near(hidden, {std::tanh(1.0), 0}, Values(2, tolerance));
}

INSTANTIATE_TEST_SUITE_P(Devices, LstmTest, testing::ValuesIn(op_params(test_devices())),
                         param_name);

// ---- Token windows ---------------------------------------------------------------------------

class ShiftTokensTest : public OpTest {};

TEST_P(ShiftTokensTest, InputsAndTargetsAreOneTokenApart) {
  constexpr std::int64_t kBatch = 37, kSteps = 150;
  for (const DType dtype : {DType::u8, DType::i32}) {
    const auto count = static_cast<std::size_t>(kBatch * (kSteps + 1));
    Values tokens;
    const std::size_t modulus = dtype == DType::u8 ? 128 : 50257;
    for (std::size_t i = 0; i < count; ++i) {
      tokens.push_back(static_cast<double>(i * 7919 % modulus));
    }
    const Tensor from = guarded({kBatch, kSteps + 1}, dtype, tokens);
    for (const bool time_major : {false, true}) {
      const Shape shape = time_major ? Shape{kSteps, kBatch} : Shape{kBatch, kSteps};
      const Tensor inputs = guarded(shape, DType::i32);
      const Tensor targets = guarded(shape, DType::i32);
      backend().shift_tokens(from, time_major, inputs, targets);
      Values expected(static_cast<std::size_t>(shape.elements())), next(expected.size());
      for (std::int64_t b = 0; b < kBatch; ++b) {
        for (std::int64_t t = 0; t < kSteps; ++t) {
          const auto to = static_cast<std::size_t>(time_major ? t * kBatch + b : b * kSteps + t);
          expected[to] = tokens[static_cast<std::size_t>(b * (kSteps + 1) + t)];
          next[to] = tokens[static_cast<std::size_t>(b * (kSteps + 1) + t + 1)];
        }
      }
      expect_equal(inputs, expected);
      expect_equal(targets, next);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ShiftTokensTest, testing::ValuesIn(op_params(test_devices())),
                         param_name);

}  // namespace
}  // namespace trainbench
