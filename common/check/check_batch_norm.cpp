#include <cmath>

#include "common/check/check_backend.h"
#include "common/check/expected.h"
#include "common/check/reference.h"

namespace trainbench {
namespace {

/// A channel's mean and variance over all rows.
struct Moments {
  Expected mean;
  Expected variance;

  Moments() = default;
  /// Summed about a number near the mean, the squares err as any sum of positive numbers; a mean
  /// that is off adds its square, as the deviations themselves add up to zero. x - mean, where the
  /// mean is large, errs by u of the mean, independently in each row.
  Moments(const HostTensor& x, std::int64_t channel, std::int64_t channels, DType master) {
    const std::int64_t rows = x.elements() / channels;
    const auto count = static_cast<double>(rows);
    const double u = working_roundoff(master);
    const Sum total = sum({x, channel, channels}, rows);
    mean.value = total.value / count;
    mean.bound = summation_error(rows, master, total.magnitude) / count +
                 2 * rounding_error(master, mean.value);
    Sum squares;
    for (std::int64_t i = channel; i < x.elements(); i += channels) {
      squares.add((x[i] - mean.value) * (x[i] - mean.value));
    }
    variance.value = squares.value / count;
    const double shift = mean.bound + u * std::abs(mean.value);
    variance.bound =
        (summation_error(rows, master, squares.value) + 4 * u * squares.value) / count +
        2 * shift * std::sqrt(variance.value) / std::sqrt(count) * kSpread + shift * shift;
  }

  Expected inverse(double epsilon, DType master) const {
    const double value = 1 / std::sqrt(variance.value + epsilon);
    // The root halves the relative error; it, the sum with epsilon and the quotient round.
    return {value, value * (variance.bound / (variance.value + epsilon) / 2 +
                            4 * working_roundoff(master))};
  }
};

/// activation((x - mean) inverse gamma + beta + residual), as it is stored.
struct Normalisation {
  const BatchNormOptions& options;
  const HostTensor& x;
  const HostTensor& gamma;
  const HostTensor& beta;
  const HostTensor& residual;

  Expected operator()(std::int64_t i, const Expected& mean, const Expected& inverse) const {
    const std::int64_t c = i % gamma.elements();
    const DType dtype = x.dtype();
    const Expected deviation = plus({x[i], 0}, {-mean.value, mean.bound}, dtype);
    const Expected normal = times(deviation, inverse, dtype);
    Expected z = plus(times(normal, {gamma[c], 0}, dtype), {beta[c], 0}, dtype);
    // Formed as x a + b, with the mean in b, its terms are rounded before they cancel.
    z.bound += 3 * working_roundoff(accumulator_of(dtype)) *
               std::abs(mean.value * inverse.value * gamma[c]);
    if (!residual.absent()) z = plus(z, {residual[i], 0}, dtype);
    return stored(dtype, activated(options.activation, z, dtype));
  }
};

/// of(c) for every channel.
template <class Of>
auto for_channels(std::int64_t channels, const Of& of) {
  std::vector<decltype(of(channels))> values(static_cast<std::size_t>(channels));
#pragma omp parallel for schedule(static)
  for (std::int64_t c = 0; c < channels; ++c) values[static_cast<std::size_t>(c)] = of(c);
  return values;
}

/// The running value after a step.
Expected blended(double running, const Expected& batch, double momentum, DType master) {
  const double value = (1 - momentum) * running + momentum * batch.value;
  const double error =
      3 * working_roundoff(master) * (std::abs(running) + momentum * std::abs(batch.value));
  return {value, momentum * batch.bound + error + underflow_error(master)};
}

}  // namespace

void CheckBackend::batch_norm(const BatchNormOptions& options, ConstTensor x,
                              const NormWeights& weights, ConstTensor residual,
                              const BatchNormState& state, Tensor y) {
  const Held image = hold(x);
  const Held gamma = hold(weights.gamma);
  const Held beta = hold(weights.beta);
  const Held addend = hold(residual);
  const Held running_mean = hold(state.running_mean);
  const Held running_variance = hold(state.running_variance);
  inner_.batch_norm(options, x, weights, residual, state, y);

  const std::int64_t channels = weights.gamma.elements();
  const auto rows = static_cast<double>(x.elements() / channels);
  const DType master = state.mean.dtype;
  const std::vector<Moments> moments =
      for_channels(channels, [&](std::int64_t c) { return Moments(*image, c, channels, master); });
  const auto of = [&](std::int64_t c) { return moments[static_cast<std::size_t>(c)]; };
  const std::string operation = named("batch_norm", options.activation, x.dtype);
  compare(operation, "mean", state.mean, [&](std::int64_t c) { return of(c).mean; });
  compare(operation, "inverse", state.inverse,
          [&](std::int64_t c) { return of(c).inverse(options.epsilon, master); });
  compare(operation, "running_mean", state.running_mean, [&](std::int64_t c) {
    return blended((*running_mean)[c], of(c).mean, options.momentum, master);
  });
  compare(operation, "running_variance", state.running_variance, [&](std::int64_t c) {
    const double unbiased = rows / std::max(1.0, rows - 1);
    const Expected& variance = of(c).variance;
    return blended((*running_variance)[c], {variance.value * unbiased, variance.bound * unbiased},
                   options.momentum, master);
  });
  // What the device had as statistics, which are checked above.
  const Held mean = hold(state.mean);
  const Held inverse = hold(state.inverse);
  const double u = working_roundoff(master);
  const Normalisation normalisation{options, *image, *gamma, *beta, *addend};
  compare(operation, "y", y, [&](std::int64_t i) {
    const double m = (*mean)[i % channels];
    const double d = (*inverse)[i % channels];
    return normalisation(i, {m, u * std::abs(m)}, {d, u * d});
  });
}

void CheckBackend::batch_norm_evaluate(const BatchNormOptions& options, ConstTensor x,
                                       const NormWeights& weights, ConstTensor residual,
                                       const BatchNormState& state, Tensor y) {
  const Held image = hold(x);
  const Held gamma = hold(weights.gamma);
  const Held beta = hold(weights.beta);
  const Held addend = hold(residual);
  const Held mean = hold(state.running_mean);
  const Held variance = hold(state.running_variance);
  inner_.batch_norm_evaluate(options, x, weights, residual, state, y);
  const std::int64_t channels = weights.gamma.elements();
  const double u = working_roundoff(state.mean.dtype);
  const Normalisation normalisation{options, *image, *gamma, *beta, *addend};
  compare(named("batch_norm_evaluate", options.activation, x.dtype), "y", y, [&](std::int64_t i) {
    const double inverse = 1 / std::sqrt((*variance)[i % channels] + options.epsilon);
    return normalisation(i, {(*mean)[i % channels], 0}, {inverse, 4 * u * inverse});
  });
}

void CheckBackend::batch_norm_backward(const BatchNormOptions& options, ConstTensor x,
                                       ConstTensor y, ConstTensor dy, ConstTensor gamma,
                                       const BatchNormState& state, Tensor dx, Tensor dresidual,
                                       const NormGradients& gradients) {
  const bool relu = options.activation == Activation::relu;
  const Held image = hold(x);
  const Held output = hold(relu ? y : ConstTensor());
  const Held slopes = hold(dy);
  const Held scale = hold(gamma);
  const Held mean = hold(state.mean);
  const Held inverse = hold(state.inverse);
  inner_.batch_norm_backward(options, x, y, dy, gamma, state, dx, dresidual, gradients);

  const std::int64_t channels = gamma.elements();
  const std::int64_t rows = x.elements() / channels;
  const auto count = static_cast<double>(rows);
  const DType master = state.mean.dtype;
  const double u = working_roundoff(master);
  const auto gradient = [&](std::int64_t i) {
    return relu && (*output)[i] <= 0 ? 0.0 : (*slopes)[i];
  };
  const auto deviation = [&](std::int64_t i) { return (*image)[i] - (*mean)[i % channels]; };
  struct Sums {
    Expected level;  ///< sum of the gradient
    Expected along;  ///< of the gradient times (x - mean)
  };
  const std::vector<Sums> sums = for_channels(channels, [&](std::int64_t c) {
    Sum level, along;
    double rounded = 0;  // x - mean errs by u of either
    for (std::int64_t i = c; i < x.elements(); i += channels) {
      level.add(gradient(i));
      along.add(gradient(i) * deviation(i));
      rounded += std::abs(gradient(i)) * (std::abs((*image)[i]) + std::abs((*mean)[c]));
    }
    return Sums{{level.value, summation_error(rows, master, level.magnitude)},
                {along.value, summation_error(rows, master, along.magnitude) + 2 * u * rounded}};
  });
  const auto of = [&](std::int64_t c) { return sums[static_cast<std::size_t>(c)]; };
  const std::string operation = named("batch_norm_backward", options.activation, x.dtype);
  compare(operation, "dbeta", gradients.beta,
          [&](std::int64_t c) { return stored(master, of(c).level); });
  compare(operation, "dgamma", gradients.gamma, [&](std::int64_t c) {
    return stored(master, times(of(c).along, {(*inverse)[c], u * (*inverse)[c]}, master));
  });
  compare(operation, "dresidual", dresidual, [&](std::int64_t i) {
    return Expected{gradient(i), 0};
  });
  compare(operation, "dx", dx, [&](std::int64_t i) {
    const std::int64_t c = i % channels;
    const double d = (*inverse)[c];
    const double factor = (*scale)[c] * d;
    const Expected level = of(c).level;
    const Expected along = of(c).along;
    const double slope = deviation(i) * d * d / count;
    const double parts[] = {gradient(i), level.value / count, slope * along.value};
    // Formed from x and the mean apart, the last part has their magnitudes.
    const double apart =
        (std::abs((*image)[i]) + std::abs((*mean)[c])) * d * d / count * std::abs(along.value);
    const double error = level.bound / count + std::abs(slope) * along.bound +
                         8 * u * (std::abs(parts[0]) + std::abs(parts[1]) + apart);
    return stored(dx.dtype, {factor * (parts[0] - parts[1] - parts[2]), std::abs(factor) * error});
  });
}

}  // namespace trainbench
