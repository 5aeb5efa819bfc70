#include <limits>

#include "tests/ops/op_test.h"

namespace trainbench {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// A batch of logits and what softmax cross-entropy makes of it, by its definition in double.
struct Expectation {
  Values losses, loss_tolerance;
  Values gradient, gradient_tolerance;
};

/// Tolerances, in u: an exponential errs by 2 |argument| (subtraction, scaling to base 2) and 4 of
/// its own, the sum of c of them by c more; the logarithm and each addition round numbers no larger
/// than the largest logit, the loss and the logarithm; the gradient is rounded four times more.
Expectation expect_loss(const Values& logits, const Values& labels, double scale, DType dtype) {
  Expectation result;
  const double u = arithmetic_roundoff(dtype);
  const std::size_t rows = labels.size();
  const std::size_t classes = logits.size() / rows;
  for (std::size_t row = 0; row < rows; ++row) {
    const double* logit = logits.data() + row * classes;
    const double largest = *std::max_element(logit, logit + classes);
    double sum = 0;
    double spread = 0;
    for (std::size_t c = 0; c < classes; ++c) {
      sum += std::exp(logit[c] - largest);
      spread += std::exp(logit[c] - largest) * (largest - logit[c]);
    }
    const double sum_error = 2 * spread / sum + 4 + static_cast<double>(classes);
    const bool valid = labels[row] >= 0 && labels[row] < static_cast<double>(classes);
    const auto label = valid ? static_cast<std::size_t>(labels[row]) : 0;
    const double loss = std::log(sum) + largest - logit[label];
    result.losses.push_back(valid ? loss : kNan);
    result.loss_tolerance.push_back(u * (sum_error + 4 * std::log(sum) + 2 * std::abs(largest) +
                                         2 * std::abs(logit[label]) + 2 * std::abs(loss)));
    for (std::size_t c = 0; c < classes; ++c) {
      const double probability = std::exp(logit[c] - largest) / sum;
      const double difference = probability - (valid && c == label ? 1 : 0);
      const double factor = scale / static_cast<double>(rows);
      const double error =
          probability * (2 * (largest - logit[c]) + 6 + sum_error) + 4 * std::abs(difference);
      result.gradient.push_back(difference * factor);
      result.gradient_tolerance.push_back(u * error * factor +
                                          storage_tolerance(dtype, difference * factor));
    }
  }
  return result;
}

class LossTest : public OpTest {
 protected:
  /// Labels in [0, classes), spread.
  static Values labels(std::int64_t rows, std::int64_t classes) {
    Values labels;
    for (std::int64_t i = 0; i < rows; ++i)
      labels.push_back(static_cast<double>((7 * i + 3) % classes));
    return labels;
  }
};

TEST_P(LossTest, IsSoftmaxCrossEntropyAndItsGradient) {
  const std::pair<std::int64_t, std::int64_t> extents[] = {{1, 1},    {3, 10},   {33, 129},
                                                           {257, 10}, {5, 1000}, {2, 33}};
  for (const auto& [rows, classes] : extents) {
    for (const float scale : {1.0f, 256.0f}) {
      const Tensor logits = random({rows, classes}, compute(), -9, 9);
      const Values right = labels(rows, classes);
      const Tensor label = guarded({rows}, DType::i32, right);
      const Tensor state = allocate_step_state(backend(), {.loss_scale = scale});
      const Expectation expected =
          expect_loss(values(logits), right, static_cast<double>(scale), compute());

      const Tensor losses = guarded({rows}, master());
      const Tensor gradient = guarded({rows, classes}, compute());
      backend().softmax_cross_entropy(logits, label, losses, gradient, state);
      expect_near(losses, expected.losses, expected.loss_tolerance);
      expect_near(gradient, expected.gradient, expected.gradient_tolerance);

      // Each of the two alone.
      const Tensor only_losses = guarded({rows}, master());
      const Tensor only_gradient = guarded({rows, classes}, compute());
      backend().softmax_cross_entropy(logits, label, only_losses, {}, state);
      backend().softmax_cross_entropy(logits, label, {}, only_gradient, state);
      expect_near(only_losses, expected.losses, expected.loss_tolerance);
      expect_near(only_gradient, expected.gradient, expected.gradient_tolerance);
    }
  }
}

// exp(1000) overflows every type; the loss does not.
TEST_P(LossTest, IsStableForLargeLogits) {
  const Values logits{1000, 0, -1000, -1000, -1000, 1000, 900, 900, 900};
  const Values right{0, 0, 1};
  const Tensor losses = guarded({3}, master());
  const Tensor gradient = guarded({3, 3}, compute());
  const Tensor x = guarded({3, 3}, compute(), logits);
  backend().softmax_cross_entropy(x, guarded({3}, DType::i32, right), losses, gradient,
                                  allocate_step_state(backend(), {}));
  const Expectation expected = expect_loss(values(x), right, 1, compute());
  expect_near(losses, expected.losses, expected.loss_tolerance);
  expect_near(gradient, expected.gradient, expected.gradient_tolerance);
}

TEST_P(LossTest, ALabelThatIsNoClassGivesNanForItsRowAlone) {
  const Tensor logits = random({4, 5}, compute());
  const Values wrong{2, 5, -1, 0};
  const Tensor losses = guarded({4}, master());
  backend().softmax_cross_entropy(logits, guarded({4}, DType::i32, wrong), losses, {},
                                  allocate_step_state(backend(), {}));
  const Expectation expected = expect_loss(values(logits), wrong, 1, compute());
  EXPECT_TRUE(std::isnan(expected.losses[1]) && std::isnan(expected.losses[2]));
  expect_near(losses, expected.losses, expected.loss_tolerance);
}

TEST_P(LossTest, TakesTheMean) {
  for (const std::int64_t count : {1, 3, 257, 5000}) {
    const Tensor all = random({count}, master(), -1, 3);
    const Tensor mean = guarded({1}, master());
    double sum = 0;
    double magnitude = 0;
    for (const double value : values(all)) {
      sum += value;
      magnitude += std::abs(value);
    }
    const auto divisor = static_cast<double>(count);
    backend().mean(all, mean);
    expect_near(mean, {sum / divisor},
                {sum_tolerance(master(), count, magnitude) / divisor +
                 2 * storage_tolerance(master(), sum / divisor)});
  }
}

TEST_P(LossTest, TheMeanOfANanIsNan) {
  const Tensor mean = guarded({1}, master());
  backend().mean(guarded({3}, master(), {1, kNan, 2}), mean);
  expect_equal(mean, {kNan});
}

INSTANTIATE_TEST_SUITE_P(Devices, LossTest, testing::ValuesIn(op_params(test_devices())),
                         param_name);

}  // namespace
}  // namespace trainbench
