#include <cmath>

#include "common/check/check_backend.h"
#include "common/check/expected.h"
#include "common/check/reference.h"

namespace trainbench {
namespace {

/// A row's mean and 1 / sqrt(variance + epsilon). The mean's error shifts all deviations alike,
/// which moves the variance by 2 shift times the mean deviation, at most its root.
struct Moments {
  Expected mean;
  Expected inverse;

  Moments(const HostTensor& x, std::int64_t row, double epsilon, DType accumulator) {
    const std::int64_t columns = x.shape()[1];
    const auto count = static_cast<double>(columns);
    const double u = working_roundoff(accumulator);
    const Sum total = sum({x, row * columns, 1}, columns);
    mean.value = total.value / count;
    mean.bound = summation_error(columns, accumulator, total.magnitude) / count +
                 2 * rounding_error(accumulator, mean.value);
    Sum squares;
    double largest = 0;
    for (std::int64_t i = 0; i < columns; ++i) {
      const double deviation = x[row * columns + i] - mean.value;
      squares.add(deviation * deviation);
      largest = std::max(largest, std::abs(deviation));
    }
    const double variance = squares.value / count;
    const double shift = mean.bound + u * largest;
    const double variance_error = summation_error(columns, accumulator, squares.magnitude) / count +
                                  4 * u * variance + 2 * shift * std::sqrt(variance) +
                                  shift * shift;
    inverse.value = 1 / std::sqrt(variance + epsilon);
    // The root halves the relative error; it, the sum with epsilon and the quotient round.
    inverse.bound = inverse.value * (0.5 * variance_error / (variance + epsilon) + 4 * u) +
                    underflow_error(accumulator);
  }
};

}  // namespace

void CheckBackend::layer_norm(double epsilon, Tensor x, ConstTensor residual,
                              const NormWeights& weights, Tensor mean, Tensor inverse, Tensor y) {
  const Held before = hold(residual.absent() ? ConstTensor() : ConstTensor(x));
  const Held more = hold(residual);
  const Held gamma = hold(weights.gamma);
  const Held beta = hold(weights.beta);
  inner_.layer_norm(epsilon, x, residual, weights, mean, inverse, y);
  const Held after = hold(x);
  const std::int64_t columns = x.shape[1];
  const DType accumulator = accumulator_of(x.dtype);
  const double u = working_roundoff(accumulator);
  const std::string operation = named("layer_norm", x.dtype);
  if (!residual.absent()) {
    compare(operation, "x", x, [&](std::int64_t i) {
      const double value = (*before)[i] + (*more)[i];
      return stored(x.dtype, {value, u * std::abs(value)});
    });
  }
  compare(operation, "mean", mean,
          [&](std::int64_t row) { return Moments(*after, row, epsilon, accumulator).mean; });
  compare(operation, "inverse", inverse,
          [&](std::int64_t row) { return Moments(*after, row, epsilon, accumulator).inverse; });
  compare(operation, "y", y, [&](std::int64_t i) {
    const Moments m(*after, i / columns, epsilon, accumulator);
    const double scale = (*gamma)[i % columns];
    const double deviation = (*after)[i] - m.mean.value;
    const double normal = deviation * m.inverse.value;
    const double value = normal * scale + (*beta)[i % columns];
    const double error =
        std::abs(scale) * (m.mean.bound * m.inverse.value + std::abs(deviation) * m.inverse.bound) +
        4 * u * (std::abs(normal * scale) + std::abs(value));
    return stored(y.dtype, {value, error});
  });
}

void CheckBackend::layer_norm_backward(ConstTensor x, ConstTensor dy, ConstTensor gamma,
                                       ConstTensor mean, ConstTensor inverse, ConstTensor dresidual,
                                       Tensor dx, const NormGradients& gradients) {
  const Held values = hold(x);
  const Held slopes = hold(dy);
  const Held scale = hold(gamma);
  const Held means = hold(mean);
  const Held inverses = hold(inverse);
  const Held more = hold(dresidual);
  inner_.layer_norm_backward(x, dy, gamma, mean, inverse, dresidual, dx, gradients);
  const std::int64_t rows = x.shape[0];
  const std::int64_t columns = x.shape[1];
  const DType accumulator = accumulator_of(x.dtype);
  const double u = working_roundoff(accumulator);
  const auto normal = [&](std::int64_t i) {
    return ((*values)[i] - (*means)[i / columns]) * (*inverses)[i / columns];
  };
  const auto slope = [&](std::int64_t i) { return (*slopes)[i] * (*scale)[i % columns]; };
  const std::string operation = named("layer_norm_backward", x.dtype);
  // Each term of a sum is rounded up to four times before it is added.
  const auto sum_error = [&](std::int64_t length, const Sum& terms) {
    return summation_error(length, accumulator, terms.magnitude) + 4 * u * terms.magnitude;
  };
  compare(operation, "dx", dx, [&](std::int64_t i) {
    const std::int64_t first = i / columns * columns;
    Sum level, along;
    for (std::int64_t j = first; j < first + columns; ++j) {
      level.add(slope(j));
      along.add(slope(j) * normal(j));
    }
    const auto count = static_cast<double>(columns);
    const double parts[] = {slope(i), level.value / count, normal(i) * along.value / count};
    const double factor = (*inverses)[i / columns];
    const double residual = more->absent() ? 0 : (*more)[i];
    const double value = factor * (parts[0] - parts[1] - parts[2]) + residual;
    const double error =
        (sum_error(columns, level) + std::abs(normal(i)) * sum_error(columns, along)) / count +
        8 * u * (std::abs(parts[0]) + std::abs(parts[1]) + std::abs(parts[2]));
    return stored(dx.dtype,
                  {value, factor * error + 2 * u * (std::abs(value) + std::abs(residual))});
  });
  const auto weight_gradient = [&](const auto& term) {
    return [&, term](std::int64_t column) {
      Sum terms;
      for (std::int64_t row = 0; row < rows; ++row) terms.add(term(row * columns + column));
      return Expected{terms.value, sum_error(rows, terms)};
    };
  };
  compare(operation, "dgamma", gradients.gamma,
          weight_gradient([&](std::int64_t i) { return (*slopes)[i] * normal(i); }));
  compare(operation, "dbeta", gradients.beta,
          weight_gradient([&](std::int64_t i) { return (*slopes)[i]; }));
}

}  // namespace trainbench
