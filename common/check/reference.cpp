#include "common/check/reference.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace trainbench {
namespace {

/// GELU's inner function is tanh(kGeluScale (x + kGeluCubic x^3)).
const double kGeluScale = std::sqrt(2.0 / std::acos(-1.0));
constexpr double kGeluCubic = 0.044715;

struct Gelu {
  double value;
  double slope;
  double inner_slope;  ///< derivative of tanh's argument
};

Gelu gelu(double x) {
  const double tanh = std::tanh(kGeluScale * (x + kGeluCubic * x * x * x));
  const double inner_slope = kGeluScale * (1 + 3 * kGeluCubic * x * x);
  return {0.5 * x * (1 + tanh), 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * inner_slope,
          inner_slope};
}

/// x s(x) and its slope s (1 + x (1 - s)), where s is the logistic function, with the errors that
/// arithmetic of roundoff u makes.
///
/// exp(-x) errs by 2 u |x| of itself for its argument's and 4 u of its own; s takes over the part 1
/// - s of that and is rounded twice more. Where exp saturates, s is wrong by less than 2^-126.
struct Silu {
  Expected value;
  Expected slope;
};

Silu silu(double x, double u) {
  const double s = 1 / (1 + std::exp(-x));
  const double rest = 1 / (1 + std::exp(x));  // 1 - s without cancellation
  const double s_error = s * u * (rest * (2 * std::abs(x) + 4) + 2) + 0x1p-126;
  const double inner = 1 + x * rest;
  const double inner_error =
      std::abs(x) * (s_error + u * rest) + u * (std::abs(x) * rest + std::abs(inner));
  return {{x * s, std::abs(x) * (s_error + u * s)},
          {s * inner, std::abs(inner) * s_error + s * (inner_error + u * std::abs(inner))}};
}

/// What a row of logits says: exp(logit - max) has the sum `sum`.
struct SoftmaxRow {
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0;
  double spread = 0;  ///< sum of p |logit - max|: the mean error of exp's arguments, in u
};

SoftmaxRow softmax_row(const HostTensor& logits, std::int64_t row) {
  const std::int64_t classes = logits.shape()[1];
  const std::int64_t first = row * classes;
  SoftmaxRow result;
  bool nan = false;
  for (std::int64_t c = 0; c < classes; ++c) {
    const double logit = logits[first + c];
    nan = nan || std::isnan(logit);
    result.max = std::max(result.max, logit);
  }
  if (nan) result.max = std::numeric_limits<double>::quiet_NaN();
  for (std::int64_t c = 0; c < classes; ++c) {
    const double below = logits[first + c] - result.max;
    result.sum += std::exp(below);
    if (below < 0 && std::isfinite(below)) result.spread -= below * std::exp(below);
  }
  result.spread /= result.sum;
  return result;
}

/// Relative error of the computed sum of exponentials: each errs by 2 u |argument| (its subtraction
/// and its scaling to base 2) and 4 u of its own, and they are summed.
double softmax_sum_error(const SoftmaxRow& row, std::int64_t classes) {
  return 2 * row.spread + 4 + kSpread * std::sqrt(static_cast<double>(classes));
}

bool is_class(std::int64_t label, std::int64_t classes) { return label >= 0 && label < classes; }

Updated unchanged(const Updating& old) {
  return {{old.weight, 0}, {old.first, 0}, {old.second, 0}};
}

}  // namespace

Sum sum(const Lane& a, std::int64_t count) {
  return dispatch_float(a.tensor.dtype(), [&](auto tag) {
    const auto* values = a.tensor.as<typename decltype(tag)::type>() + a.first;
    Sum result;
    for (std::int64_t i = 0; i < count; ++i) result.add(HostTensor::widened(values[i * a.step]));
    return result;
  });
}

Sum dot(const Lane& a, const Lane& b, std::int64_t count) {
  return dispatch_float(a.tensor.dtype(), [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* left = a.tensor.as<T>() + a.first;
    const T* right = b.tensor.as<T>() + b.first;
    Sum result;
    for (std::int64_t i = 0; i < count; ++i) {
      result.add(HostTensor::widened(left[i * a.step]) * HostTensor::widened(right[i * b.step]));
    }
    return result;
  });
}

// GELU in floating point: the argument of tanh errs by at most 6 u of itself, which tanh turns into
// at most 3 u (t tanh'(t) < 0.45), and tanh itself by 4 u; 1 + tanh is rounded once more. That
// makes 8 u |x| after the product with x / 2. In the slope, 1 - tanh^2 errs by twice as much and is
// multiplied by x / 2 times the argument's slope, until |x| = 6 makes it 0. |gelu'| < 1.13 and
// |gelu''| <= gelu''(0) = sqrt(2 / pi) < 0.8 carry over what x is uncertain by.
// |silu'| < 1.1 and |silu''| <= silu''(0) = 1/2 do so for SiLU.
Expected activated(Activation activation, const Expected& x, DType dtype) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return {x.value < 0 ? 0.0 : x.value, x.bound};
    case Activation::gelu:
      return {gelu(x.value).value, 1.13 * x.bound + 8 * gelu_roundoff(dtype) * std::abs(x.value)};
    case Activation::silu: {
      const Expected value = silu(x.value, working_roundoff(accumulator_of(dtype))).value;
      return {value.value, 1.1 * x.bound + value.bound};
    }
  }
  return x;
}

Expected derivative(Activation activation, const Expected& x, DType dtype) {
  switch (activation) {
    case Activation::none:
      return {1, 0};
    case Activation::relu: {
      const bool sign_known = x.bound == 0 || std::abs(x.value) > x.bound;
      return {x.value > 0 ? 1.0 : 0.0, sign_known ? 0.0 : 1.0};
    }
    case Activation::gelu: {
      const Gelu at = gelu(x.value);
      const double amplified = std::min(std::abs(x.value), 6.0) * at.inner_slope;
      return {at.slope, 0.8 * x.bound + 8 * gelu_roundoff(dtype) * (1 + amplified)};
    }
    case Activation::silu: {
      const Expected slope = silu(x.value, working_roundoff(accumulator_of(dtype))).slope;
      return {slope.value, 0.5 * x.bound + slope.bound};
    }
  }
  return {};
}

Expected cross_entropy(const HostTensor& logits, const HostTensor& labels, std::int64_t row) {
  const std::int64_t classes = logits.shape()[1];
  const std::int64_t label = labels.as<std::int32_t>()[row];
  if (!is_class(label, classes)) return {std::numeric_limits<double>::quiet_NaN(), 0};
  const SoftmaxRow softmax = softmax_row(logits, row);
  const double logit = logits[row * classes + label];
  const double log_sum = std::log(softmax.sum);
  const double loss = log_sum + (softmax.max - logit);
  // Whether the logit is taken from the maximum or from the whole logarithm: each of these numbers
  // may be rounded, log by 4 u.
  const double rounded = std::abs(softmax.max) + std::abs(logit) + 4 * log_sum + 2 * std::abs(loss);
  return {loss, working_roundoff(accumulator_of(logits.dtype())) *
                    (softmax_sum_error(softmax, classes) + rounded)};
}

Expected cross_entropy_gradient(const HostTensor& logits, const HostTensor& labels,
                                std::int64_t row, std::int64_t column, double scale) {
  const std::int64_t classes = logits.shape()[1];
  const SoftmaxRow softmax = softmax_row(logits, row);
  const double below = logits[row * classes + column] - softmax.max;
  const double probability = std::exp(below) / softmax.sum;
  const double target = labels.as<std::int32_t>()[row] == column ? 1.0 : 0.0;
  const double difference = probability - target;
  const double factor = scale / static_cast<double>(logits.shape()[0]);
  // Numerator, sum and quotient; then the difference, 1 / rows and two products.
  const double probability_error =
      probability * (2 * std::abs(below) + 6 + softmax_sum_error(softmax, classes));
  const double error = probability_error + 4 * std::abs(difference);
  const DType accumulator = accumulator_of(logits.dtype());
  return {
      difference * factor,
      (working_roundoff(accumulator) * error + underflow_error(accumulator)) * std::abs(factor)};
}

// Each term of a sum is a product of a rounded constant and a rounded number and passes at most two
// additions: 4 u of the term.
Updated sgd_update(const SgdOptions& options, const StepState& state, const Updating& old,
                   DType master) {
  if (state.nonfinite != 0) return unchanged(old);
  const double u = working_roundoff(master);
  const double tiny = underflow_error(master);
  const double carried = options.momentum * old.first;
  const double gradient = old.gradient * static_cast<double>(state.gradient_factor());
  const double decay = options.weight_decay * old.weight;
  const double velocity = carried + gradient + decay;
  const double velocity_error =
      4 * u * (std::abs(carried) + std::abs(gradient) + std::abs(decay)) + tiny;
  const double rate = static_cast<double>(state.learning_rate);
  const double weight = old.weight - rate * velocity;
  const double weight_error =
      rate * velocity_error + u * (std::abs(rate * velocity) + std::abs(weight)) + tiny;
  return {{weight, weight_error}, {velocity, velocity_error}, {old.second, 0}};
}

// As above; the moments' bias corrections 1 - beta^t and the constants 1 - beta are to be accurate
// to the last place, not differences of rounded numbers (1 - 0.999f errs by 1e-5 of itself).
Updated adamw_update(const AdamOptions& options, const StepState& state, const Updating& old,
                     DType master) {
  if (state.nonfinite != 0) return unchanged(old);
  const double u = working_roundoff(master);
  const double tiny = underflow_error(master);
  const double step = static_cast<double>(state.step) + 1;
  const double correction1 = 1 - std::pow(options.beta1, step);
  const double correction2 = 1 - std::pow(options.beta2, step);
  const double gradient = old.gradient * static_cast<double>(state.gradient_factor());

  const double carried = options.beta1 * old.first;
  const double fresh = (1 - options.beta1) * gradient;
  const double first = carried + fresh;
  const double first_error = 5 * u * (std::abs(carried) + std::abs(fresh)) + tiny;
  const double second = options.beta2 * old.second + (1 - options.beta2) * gradient * gradient;
  const double second_error = 8 * u * second + tiny;

  // The square root halves its argument's relative error of 8 u + 2 u and adds 1 u; the sum with
  // epsilon, the correction and the quotient add 2 u each.
  const double root = std::sqrt(second / correction2) + options.epsilon;
  const double direction = first / correction1 / root;
  const double root_error = 0.5 * tiny / correction2 / (root * root);
  // Formed as it is written, here and maybe on the device, 1 - beta^t has the absolute error of a
  // number near 1.
  const double correction_error =
      2 * unit_roundoff(DType::f64) * (1 / correction1 + 1 / correction2);
  const double direction_error = first_error / correction1 / root +
                                 (12 * u + root_error + correction_error) * std::abs(direction);
  const double rate = static_cast<double>(state.learning_rate);
  const double decay = options.weight_decay * old.weight;
  const double weight = old.weight - rate * (direction + decay);
  // The decay may be taken off the old weight in a rounding of its own.
  const double weight_error =
      rate * (direction_error + 3 * u * (std::abs(direction) + std::abs(decay))) +
      u * (std::abs(old.weight) + std::abs(weight)) + tiny;
  return {{weight, weight_error}, {first, first_error}, {second, second_error}};
}

// The norm errs by half of what its sum of squares does, relatively: all terms are positive. Norm,
// product with the factor and quotient round in double, the result to float.
Expected clip_factor(const HostTensor& gradients, double max_norm, const StepState& state) {
  const std::int64_t count = gradients.elements();
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += gradients[i] * gradients[i];
  const double before =
      static_cast<double>(state.gradient_scale) / static_cast<double>(state.loss_scale);
  const double norm = std::sqrt(sum) * before;
  if (!std::isfinite(norm)) return {std::numeric_limits<double>::quiet_NaN(), 0};
  const double factor = std::min(1.0, max_norm / norm);
  const double error = summation_error(count, DType::f32, 1) / 2 + 4 * working_roundoff(DType::f32);
  return {factor, factor * error};
}

StepState finished(const LossScaling& scaling, StepState state) {
  if (state.nonfinite != 0) {
    ++state.skipped_steps;
    state.clean_steps = 0;
    if (scaling.enabled) state.loss_scale *= scaling.backoff;
  } else {
    ++state.step;
    ++state.clean_steps;
    if (scaling.enabled && state.clean_steps >= scaling.growth_interval) {
      // A scale that would overflow stays.
      const float grown = state.loss_scale * scaling.growth;
      if (std::isfinite(grown)) state.loss_scale = grown;
      state.clean_steps = 0;
    }
  }
  state.nonfinite = 0;
  return state;
}

}  // namespace trainbench
