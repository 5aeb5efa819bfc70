#include <limits>

#include "tests/ops/op_test.h"

namespace trainbench {
namespace {

constexpr std::int64_t kCounts[] = {1, 3, 17, 255, 1000, 4099};
constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class OptimizerTest : public OpTest {
 protected:
  struct Problem {
    ParameterUpdate update;
    Tensor first;
    Tensor second;
    Tensor state;
  };

  Problem make(std::int64_t count, const StepState& state) {
    return {{random({count}, master()),
             precision().has_master_copy() ? random({count}, compute()) : Tensor{},
             random({count}, master(), -3, 3)},
            random({count}, master()),
            random({count}, master(), 0, 1),
            allocate_step_state(backend(), state)};
  }

  /// The copy that layers read is the new master, rounded.
  void expect_copy(const ParameterUpdate& update) {
    if (update.weights.absent()) return;
    Values expected = values(update.master);
    for (double& value : expected) value = rounded_to(compute(), value);
    expect_equal(update.weights, expected);
  }

  void expect_state(const Tensor& tensor, const StepState& expected) {
    const StepState actual = read_step_state(backend(), tensor);
    EXPECT_EQ(actual.learning_rate, expected.learning_rate);
    EXPECT_EQ(actual.loss_scale, expected.loss_scale);
    EXPECT_EQ(actual.step, expected.step);
    EXPECT_EQ(actual.clean_steps, expected.clean_steps);
    EXPECT_EQ(actual.nonfinite, expected.nonfinite);
    EXPECT_EQ(actual.skipped_steps, expected.skipped_steps);
  }
};

// v = momentum v + (g / scale + decay w), w -= rate v: each term is a product of two rounded
// numbers and passes two additions, 4 u; the weight rounds twice more.
TEST_P(OptimizerTest, SgdFollowsItsDefinition) {
  const SgdOptions options{.momentum = 0.9, .weight_decay = 0.03};
  for (const std::int64_t count : kCounts) {
    const StepState state{.learning_rate = 0.05f, .loss_scale = 8};
    const Problem problem = make(count, state);
    const double u = arithmetic_roundoff(master());
    const double rate = static_cast<double>(state.learning_rate);
    for (int step = 0; step < 2; ++step) {
      Values weights = values(problem.update.master);
      Values velocities = values(problem.first);
      const Values gradients = values(problem.update.gradient);
      Values weight_tolerance;
      Values velocity_tolerance;
      for (std::size_t i = 0; i < weights.size(); ++i) {
        const double terms[] = {options.momentum * velocities[i], gradients[i] / 8,
                                options.weight_decay * weights[i]};
        velocities[i] = terms[0] + terms[1] + terms[2];
        velocity_tolerance.push_back(
            4 * u * (std::abs(terms[0]) + std::abs(terms[1]) + std::abs(terms[2])));
        weights[i] -= rate * velocities[i];
        weight_tolerance.push_back(rate * velocity_tolerance[i] +
                                   u * (std::abs(rate * velocities[i]) + std::abs(weights[i])));
      }
      backend().sgd(options, problem.update, problem.first, problem.state);
      expect_near(problem.first, velocities, velocity_tolerance);
      expect_near(problem.update.master, weights, weight_tolerance);
      expect_copy(problem.update);
    }
  }
}

// Algorithm 2 of Loshchilov and Hutter. Roundings of the moments as in SGD's; the direction's are
// those of moment, correction, root (half of its argument's), sum with epsilon and quotient: 16 u.
TEST_P(OptimizerTest, AdamWFollowsItsDefinition) {
  const AdamOptions options{.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.1};
  for (const std::int64_t count : kCounts) {
    for (const std::int32_t step : {0, 9, 100000}) {
      const StepState state{.learning_rate = 0.002f, .loss_scale = 4, .step = step};
      const Problem problem = make(count, state);
      const double u = arithmetic_roundoff(master());
      const double rate = static_cast<double>(state.learning_rate);
      Values weights = values(problem.update.master);
      Values firsts = values(problem.first);
      Values seconds = values(problem.second);
      const Values gradients = values(problem.update.gradient);
      Values weight_tolerance;
      Values first_tolerance;
      Values second_tolerance;
      const double correction1 = 1 - std::pow(options.beta1, step + 1);
      const double correction2 = 1 - std::pow(options.beta2, step + 1);
      for (std::size_t i = 0; i < weights.size(); ++i) {
        const double gradient = gradients[i] / 4;
        const double kept = options.beta1 * firsts[i];
        const double fresh = (1 - options.beta1) * gradient;
        firsts[i] = kept + fresh;
        first_tolerance.push_back(5 * u * (std::abs(kept) + std::abs(fresh)));
        seconds[i] = options.beta2 * seconds[i] + (1 - options.beta2) * gradient * gradient;
        second_tolerance.push_back(8 * u * seconds[i]);
        const double root = std::sqrt(seconds[i] / correction2) + options.epsilon;
        const double direction = firsts[i] / correction1 / root;
        const double old = weights[i];
        weights[i] -= rate * (direction + options.weight_decay * old);
        weight_tolerance.push_back(rate * (first_tolerance[i] / correction1 / root +
                                           16 * u * std::abs(direction) +
                                           4 * u * options.weight_decay * std::abs(old)) +
                                   u * (std::abs(old) + std::abs(weights[i])));
      }
      backend().adamw(options, problem.update, problem.first, problem.second, problem.state);
      expect_near(problem.first, firsts, first_tolerance);
      expect_near(problem.second, seconds, second_tolerance);
      expect_near(problem.update.master, weights, weight_tolerance);
      expect_copy(problem.update);
    }
  }
}

// The squares' sum errs by at most one rounding a term and the norm by half of that; five more
// roundings follow.
TEST_P(OptimizerTest, ClippingBringsTheNormDownToItsLimit) {
  for (const std::int64_t count : {1, 17, 4099, 70001}) {
    const StepState before{.loss_scale = 8, .gradient_scale = 0.5f};
    const Tensor state = allocate_step_state(backend(), before);
    const Tensor gradients = random({count}, master(), -3, 3);
    double sum = 0;
    for (const double value : values(gradients)) sum += value * value;
    const double norm = std::sqrt(sum) * 0.5 / 8;
    const double tolerance = (static_cast<double>(count) / 2 + 5) * 0x1p-24;

    backend().clip_gradients(gradients, norm / 3, state);
    EXPECT_NEAR(read_step_state(backend(), state).clip_factor, 1.0 / 3, tolerance / 3);
    // A step starts anew: the factor before does not enter.
    backend().clip_gradients(gradients, norm / 2, state);
    EXPECT_NEAR(read_step_state(backend(), state).clip_factor, 0.5, tolerance / 2);
    backend().clip_gradients(gradients, 2 * norm, state);
    expect_state(state, before);
    EXPECT_EQ(read_step_state(backend(), state).clip_factor, 1.0f);
  }
}

TEST_P(OptimizerTest, ClippingFindsNonfiniteGradients) {
  for (const double bad : {kInf, -kInf, kNan}) {
    Values gradients(5003, 0.25);
    gradients[4711] = bad;
    const Tensor state = allocate_step_state(backend(), {});
    backend().clip_gradients(guarded({5003}, master(), gradients), 1, state);
    EXPECT_EQ(read_step_state(backend(), state).nonfinite, 1) << bad;
  }
}

TEST_P(OptimizerTest, UpdatesUseTheClippedGradient) {
  const Problem clipped = make(257, {.learning_rate = 0.5f, .loss_scale = 4, .clip_factor = 0.25f});
  const Values gradients = values(clipped.update.gradient);
  write_values(backend(), clipped.first, Values(257, 0.0));
  backend().sgd({.momentum = 0.9, .weight_decay = 0}, clipped.update, clipped.first, clipped.state);
  Values expected;
  Values tolerance;
  for (const double gradient : gradients) {
    expected.push_back(gradient / 16);
    tolerance.push_back(4 * arithmetic_roundoff(master()) * std::abs(gradient / 16));
  }
  expect_near(clipped.first, expected, tolerance);
}

TEST_P(OptimizerTest, ANonfiniteGradientLeavesEverythingAsItIs) {
  const Problem problem = make(257, {.learning_rate = 0.1f, .nonfinite = 1});
  const Values weights = values(problem.update.master);
  const Values copy = precision().has_master_copy() ? values(problem.update.weights) : Values{};
  const Values first = values(problem.first);
  const Values second = values(problem.second);
  backend().sgd({}, problem.update, problem.first, problem.state);
  backend().adamw({}, problem.update, problem.first, problem.second, problem.state);
  expect_equal(problem.update.master, weights);
  if (precision().has_master_copy()) expect_equal(problem.update.weights, copy);
  expect_equal(problem.first, first);
  expect_equal(problem.second, second);
}

TEST_P(OptimizerTest, FindsANonfiniteGradientWhereverItIs) {
  for (const std::int64_t count : kCounts) {
    Values gradients = random_values(count, 3, -1e30, 1e30);
    const Tensor tensor = guarded({count}, master(), gradients);
    const Tensor state = allocate_step_state(backend(), {.step = 5});
    backend().check_finite(tensor, state);
    expect_state(state, {.step = 5});
    for (const std::int64_t place : {std::int64_t{0}, count / 2, count - 1}) {
      for (const double bad : {kInf, -kInf, kNan}) {
        double& element = gradients[static_cast<std::size_t>(place)];
        const double good = std::exchange(element, bad);
        write_values(backend(), tensor, gradients);
        const Tensor fresh = allocate_step_state(backend(), {});
        backend().check_finite(tensor, fresh);
        expect_state(fresh, {.nonfinite = 1});
        element = good;
      }
    }
  }
}

TEST_P(OptimizerTest, AFoundNonfiniteIsNotForgotten) {
  const Tensor state = allocate_step_state(backend(), {.nonfinite = 1});
  backend().check_finite(random({33}, master()), state);
  expect_state(state, {.nonfinite = 1});
}

TEST_P(OptimizerTest, EndsStepsAndMovesTheLossScale) {
  const LossScaling scaling{.enabled = true, .growth = 2, .backoff = 0.5f, .growth_interval = 2};
  const Tensor state = allocate_step_state(backend(), {.learning_rate = 0.5f, .loss_scale = 64});
  StepState expected{.learning_rate = 0.5f, .loss_scale = 64};
  const auto finish = [&] {
    backend().finish_step(scaling, state);
    expect_state(state, expected);
  };
  expected.step = expected.clean_steps = 1;
  finish();
  expected.step = 2;  // the second clean step: the scale grows
  expected.clean_steps = 0;
  expected.loss_scale = 128;
  finish();
  expected.step = 3;
  expected.clean_steps = 1;
  finish();

  StepState spoilt = expected;  // a skip: the scale halves and the count starts again
  spoilt.nonfinite = 1;
  backend().copy_from_host(state, &spoilt);
  expected.skipped_steps = 1;
  expected.clean_steps = 0;
  expected.loss_scale = 64;
  finish();
}

TEST_P(OptimizerTest, WithoutScalingTheScaleStays) {
  const LossScaling off{.enabled = false, .growth_interval = 1};
  const Tensor state = allocate_step_state(backend(), {});
  backend().finish_step(off, state);
  backend().finish_step(off, state);
  expect_state(state, {.step = 2, .clean_steps = 2});
}

TEST_P(OptimizerTest, TheLossScaleDoesNotOverflow) {
  const LossScaling scaling{.enabled = true, .growth_interval = 1};
  const Tensor state = allocate_step_state(backend(), {.loss_scale = 0x1p127f});
  backend().finish_step(scaling, state);
  expect_state(state, {.loss_scale = 0x1p127f, .step = 1});
}

INSTANTIATE_TEST_SUITE_P(Devices, OptimizerTest, testing::ValuesIn(op_params(test_devices())),
                         param_name);

}  // namespace
}  // namespace trainbench
