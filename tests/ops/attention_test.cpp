#include <cmath>

#include "tests/ops/op_test.h"

namespace trainbench {
namespace {

struct Sizes {
  std::int64_t batch, steps, heads, width;
};

/// One element, odd extents, a whole block and several with a rest.
constexpr Sizes kSizes[] = {
    {1, 1, 1, 1}, {2, 5, 2, 3}, {1, 64, 2, 16}, {2, 70, 3, 20}, {1, 150, 1, 64}};

struct Approximate {
  double value = 0;
  double error = 0;
};

/// A sum and its worst error, from terms that are themselves uncertain.
struct UncertainSum {
  double value = 0, magnitude = 0, error = 0;
  void add(double term, double term_error) {
    value += term;
    magnitude += std::abs(term);
    error += term_error;
  }
};

/// Attention of one head by its definition, with the t x t matrices, and what floating point may
/// make of it. u is the roundoff of the arithmetic, `stored` that to which matrix units round the
/// weights and their gradients before they multiply them (0 where they are kept in 32 bits), `cut`
/// the error of each operand as it enters a product.
class Reference {
 public:
  Reference(const Sizes& sizes, bool causal, double scale, const Precision& precision,
            const Values& qkv)
      : e_(sizes),
        scale_(scale),
        u_(arithmetic_roundoff(precision.compute)),
        stored_(size_of(precision.compute) == 2 ? unit_roundoff(precision.compute) : 0),
        cut_(operand_error(precision.math)),
        qkv_(qkv),
        causal_(causal) {}

  void start(std::int64_t sample, std::int64_t head) {
    sample_ = sample;
    head_ = head;
    weights_.assign(static_cast<std::size_t>(e_.steps * e_.steps), {});
    logsums_.clear();
    for (std::int64_t row = 0; row < e_.steps; ++row) soften(row);
  }

  double qkv(int part, std::int64_t step, std::int64_t column) const {
    const std::int64_t columns = e_.heads * e_.width;
    return qkv_[static_cast<std::size_t>(((sample_ * e_.steps + step) * 3 + part) * columns +
                                         head_ * e_.width + column)];
  }
  double of_rows(const Values& rows, std::int64_t step, std::int64_t column) const {
    return rows[static_cast<std::size_t>((sample_ * e_.steps + step) * e_.heads * e_.width +
                                         head_ * e_.width + column)];
  }
  Approximate logsum(std::int64_t row) const { return logsums_[static_cast<std::size_t>(row)]; }

  Approximate output(std::int64_t row, std::int64_t column) const {
    UncertainSum sum;
    for (std::int64_t key = 0; key < e_.steps; ++key) {
      const Approximate p = weight(row, key);
      const double v = qkv(2, key, column);
      sum.add(p.value * v, (p.error + operands() * p.value) * std::abs(v));
    }
    return summed(sum);
  }

  /// The gradients by q, k and v of one step and column.
  Approximate gradient(int part, std::int64_t step, std::int64_t column, const Values& y,
                       const Values& dy) const {
    UncertainSum sum;
    for (std::int64_t other = 0; other < e_.steps; ++other) {
      const std::int64_t row = part == 0 ? step : other;
      const std::int64_t key = part == 0 ? other : step;
      if (part == 2) {
        const Approximate p = weight(row, key);
        const double slope = of_rows(dy, row, column);
        sum.add(p.value * slope, (p.error + operands() * p.value) * std::abs(slope));
        continue;
      }
      const Approximate ds = score_gradient(row, key, y, dy);
      const double factor = scale_ * qkv(1 - part, other, column);
      sum.add(ds.value * factor,
              (ds.error + (operands() + 3 * u_) * std::abs(ds.value)) * std::abs(factor));
    }
    return summed(sum);
  }

 private:
  /// Of a product of a weight, or its gradient, and a number in memory.
  double operands() const { return stored_ + 2 * cut_; }
  Approximate summed(const UncertainSum& sum) const {
    return {sum.value, sum.error + static_cast<double>(e_.steps + 2) * 2 * u_ * sum.magnitude};
  }
  Approximate weight(std::int64_t row, std::int64_t key) const {
    return weights_[static_cast<std::size_t>(row * e_.steps + key)];
  }

  /// An exponential errs by its argument's error (product, subtraction, scaling to base 2) and 4 u;
  /// for each 16 keys at the least a block's maximum may renew the sums: 6 u more. The quotient has
  /// that of the numerator and of the sum.
  void soften(std::int64_t row) {
    const std::int64_t visible = causal_ ? row + 1 : e_.steps;
    Values scores;
    double largest = -1e300, error = 0, smallest = 1e300;
    for (std::int64_t key = 0; key < visible; ++key) {
      double score = 0, magnitude = 0;
      for (std::int64_t i = 0; i < e_.width; ++i) {
        const double term = scale_ * qkv(0, row, i) * qkv(1, key, i);
        score += term;
        magnitude += std::abs(term);
      }
      scores.push_back(score);
      largest = std::max(largest, score);
      smallest = std::min(smallest, score);
      error = std::max(error, (static_cast<double>(e_.width + 3) * 2 * u_ + 2 * cut_) * magnitude);
    }
    double sum = 0;
    for (const double score : scores) sum += std::exp(score - largest);
    const auto keys = static_cast<double>(visible);
    const double logsum = largest + std::log(sum);
    error +=
        u_ * (2 * (largest - smallest) + 2 * std::abs(logsum) + 8 + keys + 6 * (keys / 16 + 1));
    logsums_.push_back({logsum, 2 * error + 4 * u_ * std::abs(logsum)});
    for (std::int64_t key = 0; key < visible; ++key) {
      const double p = std::exp(scores[static_cast<std::size_t>(key)] - largest) / sum;
      weights_[static_cast<std::size_t>(row * e_.steps + key)] = {p, 4 * error * p};
    }
  }

  Approximate score_gradient(std::int64_t row, std::int64_t key, const Values& y,
                             const Values& dy) const {
    UncertainSum product, along;
    for (std::int64_t i = 0; i < e_.width; ++i) {
      product.add(of_rows(dy, row, i) * qkv(2, key, i), 0);
      along.add(of_rows(dy, row, i) * of_rows(y, row, i), 0);
    }
    const Approximate p = weight(row, key);
    const double difference = product.value - along.value;
    const double terms = static_cast<double>(e_.width + 3) * 2 * u_;
    return {p.value * difference, p.error * std::abs(difference) +
                                      p.value * (terms * (product.magnitude + along.magnitude) +
                                                 2 * cut_ * product.magnitude)};
  }

  Sizes e_;
  double scale_;
  double u_;
  double stored_;
  double cut_;
  const Values& qkv_;
  bool causal_;
  std::int64_t sample_ = 0;
  std::int64_t head_ = 0;
  std::vector<Approximate> weights_;
  std::vector<Approximate> logsums_;
};

class AttentionTest : public OpTest {
 protected:
  void expect(ConstTensor tensor, const std::vector<Approximate>& expected) {
    Values right, tolerance;
    for (const Approximate& e : expected) {
      right.push_back(e.value);
      tolerance.push_back(e.error + storage_tolerance(tensor.dtype, e.value));
    }
    expect_near(tensor, right, tolerance);
  }
};

TEST_P(AttentionTest, FollowsTheDefinitionForwardAndBackward) {
  for (const Sizes& e : kSizes) {
    for (const bool causal : {false, true}) {
      SCOPED_TRACE(std::to_string(e.steps) + (causal ? " causal" : ""));
      const std::int64_t columns = e.heads * e.width;
      const AttentionOptions options{e.heads, causal, 1 / std::sqrt(static_cast<double>(e.width))};
      const Tensor qkv = random({e.batch, e.steps, 3 * columns}, compute(), -2, 2);
      const Tensor y = guarded({e.batch, e.steps, columns}, compute());
      const Tensor logsum = guarded({e.batch, e.heads, e.steps}, master());
      backend().attention(options, qkv, y, logsum, precision().math);
      const Tensor dy = random({e.batch, e.steps, columns}, compute());
      const Tensor dqkv = guarded({e.batch, e.steps, 3 * columns}, compute());
      backend().attention_backward(options, qkv, y, logsum, dy, dqkv, precision().math);

      const Values inputs = values(qkv);
      const Values outputs = values(y);
      const Values slopes = values(dy);
      Reference reference(e, causal, options.scale, precision(), inputs);
      std::vector<Approximate> expected_y(outputs.size());
      std::vector<Approximate> expected_gradient(inputs.size());
      std::vector<Approximate> expected_sums;
      for (std::int64_t sample = 0; sample < e.batch; ++sample) {
        for (std::int64_t head = 0; head < e.heads; ++head) {
          reference.start(sample, head);
          for (std::int64_t step = 0; step < e.steps; ++step) {
            expected_sums.push_back(reference.logsum(step));
            for (std::int64_t i = 0; i < e.width; ++i) {
              const std::int64_t row = sample * e.steps + step;
              const std::int64_t column = head * e.width + i;
              expected_y[static_cast<std::size_t>(row * columns + column)] =
                  reference.output(step, i);
              for (int part = 0; part < 3; ++part) {
                expected_gradient[static_cast<std::size_t>((row * 3 + part) * columns + column)] =
                    reference.gradient(part, step, i, outputs, slopes);
              }
            }
          }
        }
      }
      expect(logsum, expected_sums);
      expect(y, expected_y);
      expect(dqkv, expected_gradient);
    }
  }
}

TEST_P(AttentionTest, CausalAttentionDoesNotSeeTheFuture) {
  constexpr std::int64_t kSteps = 100, kColumns = 32;
  const AttentionOptions options{2, true, 0.25};
  const Tensor qkv = random({1, kSteps, 3 * kColumns}, compute());
  const Tensor y = guarded({1, kSteps, kColumns}, compute());
  const Tensor logsum = guarded({1, 2, kSteps}, master());
  backend().attention(options, qkv, y, logsum, precision().math);
  const Values before = values(y);
  Values changed = values(qkv);
  constexpr std::int64_t kChanged = 70;
  for (std::size_t i = kChanged * 3 * kColumns; i < changed.size(); ++i) changed[i] = -changed[i];
  write_values(backend(), qkv, changed);
  backend().attention(options, qkv, y, logsum, precision().math);
  const Values after = values(y);
  for (std::size_t i = 0; i < kChanged * kColumns; ++i) ASSERT_EQ(after[i], before[i]) << i;
  EXPECT_NE(after[kChanged * kColumns], before[kChanged * kColumns]);
}

/// Large scores: a softmax that does not subtract the maximum overflows.
TEST_P(AttentionTest, LargeScoresStayFinite) {
  constexpr std::int64_t kSteps = 70;
  Values numbers(kSteps * 3);
  for (std::size_t i = 0; i < kSteps; ++i) {
    numbers[3 * i] = 30;
    numbers[3 * i + 1] = static_cast<double>(i % 16);
    numbers[3 * i + 2] = static_cast<double>(i % 16);
  }
  const Tensor qkv = guarded({1, kSteps, 3}, compute(), numbers);
  const Tensor y = guarded({1, kSteps, 1}, compute());
  const Tensor logsum = guarded({1, 1, kSteps}, master());
  backend().attention({1, false, 1}, qkv, y, logsum, precision().math);
  // Only the keys of score 450 count: the next are below them by 30, a weight of 1e-13.
  for (const double value : values(y)) EXPECT_NEAR(value, 15, 15 * unit_roundoff(compute()) * 70);
}

class SoftmaxTest : public OpTest {};

TEST_P(SoftmaxTest, ItAndItsGradientFollowTheDefinition) {
  for (const std::int64_t t : {1, 5, 130}) {
    for (const bool causal : {false, true}) {
      constexpr double kScale = 0.375;
      const Tensor x = random({2, t, t}, compute(), -9, 9);
      const Tensor dy = random({2, t, t}, compute());
      const Values scores = values(x), slopes = values(dy);
      backend().softmax(kScale, causal, x);
      const Values weights = values(x);
      backend().softmax_backward(kScale, x, dy);
      Values expected, tolerance, expected_slopes, slope_tolerance;
      const double u = arithmetic_roundoff(compute());
      for (std::int64_t row = 0; row < 2 * t; ++row) {
        const std::int64_t visible = causal ? row % t + 1 : t;
        const auto at = [&](const Values& v, std::int64_t i) {
          return v[static_cast<std::size_t>(row * t + i)];
        };
        double largest = -1e300, sum = 0, along = 0, along_magnitude = 0;
        for (std::int64_t i = 0; i < visible; ++i) {
          largest = std::max(largest, kScale * at(scores, i));
        }
        for (std::int64_t i = 0; i < visible; ++i)
          sum += std::exp(kScale * at(scores, i) - largest);
        for (std::int64_t i = 0; i < t; ++i) {
          along += at(weights, i) * at(slopes, i);
          along_magnitude += std::abs(at(weights, i) * at(slopes, i));
        }
        for (std::int64_t i = 0; i < t; ++i) {
          const double p = i < visible ? std::exp(kScale * at(scores, i) - largest) / sum : 0;
          expected.push_back(p);
          // Arguments up to 7 err by 5 u of themselves, an exponential by 4 u, the sum by t.
          tolerance.push_back(u * (2 * 5 * 7 + 12 + static_cast<double>(t)) * p +
                              (p > 0 ? storage_tolerance(compute(), p) : 0));
          const double ds = kScale * at(weights, i) * (at(slopes, i) - along);
          expected_slopes.push_back(ds);
          slope_tolerance.push_back(kScale * at(weights, i) * u *
                                        (4 * (std::abs(at(slopes, i)) + std::abs(along)) +
                                         static_cast<double>(t + 1) * along_magnitude) +
                                    storage_tolerance(compute(), ds));
        }
      }
      expect_near(x, expected, tolerance);
      expect_near(dy, expected_slopes, slope_tolerance);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, AttentionTest, testing::ValuesIn(op_params(test_devices())),
                         param_name);
INSTANTIATE_TEST_SUITE_P(Devices, SoftmaxTest, testing::ValuesIn(op_params(test_devices())),
                         param_name);

}  // namespace
}  // namespace trainbench
