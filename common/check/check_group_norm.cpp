#include <cmath>

#include "common/check/check_backend.h"
#include "common/check/expected.h"
#include "common/check/reference.h"

namespace trainbench {
namespace {

/// Extents of x[b, h, w, c] and its groups.
struct Extents {
  std::int64_t images;
  std::int64_t pixels;
  std::int64_t channels;
  std::int64_t groups;
  std::int64_t width;  ///< channels of a group

  Extents(const ConstTensor& x, const GroupNormOptions& options)
      : images(x.shape[0]),
        pixels(x.shape[1] * x.shape[2]),
        channels(x.shape[3]),
        groups(options.groups),
        width(channels / groups) {}

  double count() const { return static_cast<double>(pixels * width); }
  /// The place of an element's group among the statistics.
  std::int64_t statistic(std::int64_t index) const {
    return index / (pixels * channels) * groups + index % channels / width;
  }
};

/// Calls f(index) for the elements of statistic `at`.
template <class F>
void for_group(const Extents& e, std::int64_t at, const F& f) {
  const std::int64_t first = at / e.groups * e.pixels * e.channels + at % e.groups * e.width;
  for (std::int64_t pixel = 0; pixel < e.pixels; ++pixel) {
    for (std::int64_t c = 0; c < e.width; ++c) f(first + pixel * e.channels + c);
  }
}

/// A group's mean and 1 / sqrt(variance + epsilon).
struct Statistic {
  Expected mean;
  Expected inverse;
};

/// Summed about the mean, the squares err as any sum of positive numbers; a mean that is off adds
/// its square, as the deviations themselves add up to zero. The root halves the relative error.
Statistic statistic_of(const HostTensor& x, const Extents& e, std::int64_t at, double epsilon,
                       DType master) {
  const double u = working_roundoff(master);
  const auto terms = static_cast<std::int64_t>(e.count());
  Sum total;
  for_group(e, at, [&](std::int64_t i) { total.add(x[i]); });
  const double mean = total.value / e.count();
  const double mean_error =
      summation_error(terms, master, total.magnitude) / e.count() + rounding_error(master, mean);
  Sum squares;
  for_group(e, at, [&](std::int64_t i) { squares.add((x[i] - mean) * (x[i] - mean)); });
  const double variance = squares.value / e.count();
  const double variance_error =
      (summation_error(terms, master, squares.value) + 4 * u * squares.value) / e.count() +
      mean_error * mean_error;
  const double inverse = 1 / std::sqrt(variance + epsilon);
  const double error = inverse * (variance_error / (variance + epsilon) / 2 + 3 * u);
  return {{mean, mean_error}, {inverse, error + rounding_error(master, inverse)}};
}

/// An element on its way through the norm.
struct Normalised {
  Expected normal;  ///< (x - mean) / deviation
  Expected z;       ///< before the activation
};

Normalised normalised(double x, const Statistic& s, double gamma, double beta, DType dtype) {
  const Expected deviation = plus({x, 0}, {-s.mean.value, s.mean.bound}, dtype);
  const Expected normal = times(deviation, s.inverse, dtype);
  Expected z = plus(times(normal, {gamma, 0}, dtype), {beta, 0}, dtype);
  // Formed as x a + b, with the mean in b, its terms are rounded before they cancel.
  z.bound += 3 * working_roundoff(accumulator_of(dtype)) *
             std::abs(s.mean.value * s.inverse.value * gamma);
  return {normal, z};
}

/// A sum whose terms are uncertain themselves.
struct UncertainSum {
  Sum terms;
  double bound = 0;

  void add(const Expected& term, double factor = 1) {
    terms.add(term.value * factor);
    bound += term.bound * std::abs(factor);
  }
  void add(const UncertainSum& other, double factor = 1) {
    terms.value += other.terms.value * factor;
    terms.magnitude += other.terms.magnitude * std::abs(factor);
    bound += other.bound * std::abs(factor);
  }
  Expected sum(std::int64_t count, DType accumulator) const {
    return {terms.value, bound + summation_error(count, accumulator, terms.magnitude)};
  }
};

/// The backward pass as a plain chain rule, from the statistics that the device had.
struct Backward {
  const GroupNormOptions& options;
  Extents e;
  HostTensor x, dy, gamma, beta, mean, inverse;
  std::vector<UncertainSum> dz{};        ///< of each image and channel
  std::vector<UncertainSum> products{};  ///< dz times the normalised x, likewise

  struct Element {
    Normalised at;
    Expected dz;
  };
  Element element(std::int64_t i) const {
    const std::int64_t s = e.statistic(i);
    const std::int64_t c = i % e.channels;
    const Statistic known{{mean[s], 0}, {inverse[s], 0}};
    const Normalised at = normalised(x[i], known, gamma[c], beta[c], x.dtype());
    return {at, times({dy[i], 0}, derivative(options.activation, at.z, x.dtype()), x.dtype())};
  }

  void sum_up() {
    dz.resize(static_cast<std::size_t>(e.images * e.channels));
    products.resize(dz.size());
#pragma omp parallel for schedule(static)
    for (std::int64_t image = 0; image < e.images; ++image) {
      for (std::int64_t i = 0; i < e.pixels * e.channels; ++i) {
        const Element at = element(image * e.pixels * e.channels + i);
        const auto place = static_cast<std::size_t>(image * e.channels + i % e.channels);
        dz[place].add(at.dz);
        products[place].add(times(at.dz, at.at.normal, x.dtype()));
      }
    }
  }

  /// Mean over statistic `s`'s group of gamma times what `sums` are of.
  Expected group_mean(const std::vector<UncertainSum>& sums, std::int64_t s) const {
    UncertainSum total;
    const std::int64_t first = s % e.groups * e.width;
    for (std::int64_t c = first; c < first + e.width; ++c) {
      total.add(sums[static_cast<std::size_t>(s / e.groups * e.channels + c)], gamma[c]);
    }
    const Expected sum =
        total.sum(static_cast<std::int64_t>(e.count()) + 2, accumulator_of(x.dtype()));
    return {sum.value / e.count(), sum.bound / e.count()};
  }

  Expected dx(std::int64_t i) const {
    const DType dtype = x.dtype();
    const Element at = element(i);
    const std::int64_t s = e.statistic(i);
    const auto minus = [](const Expected& a) { return Expected{-a.value, a.bound}; };
    const Expected own = times(at.dz, {gamma[i % e.channels], 0}, dtype);
    const Expected product = times(at.at.normal, group_mean(products, s), dtype);
    const Expected rest = plus(plus(own, minus(group_mean(dz, s)), dtype), minus(product), dtype);
    Expected result = times(rest, {inverse[s], 0}, dtype);
    // In whatever order the three are added.
    result.bound += 3 * working_roundoff(accumulator_of(dtype)) * inverse[s] *
                    (std::abs(own.value) + std::abs(product.value));
    return result;
  }

  /// Over all images, of what `sums` are of.
  Expected channel(const std::vector<UncertainSum>& sums, std::int64_t c, DType master) const {
    UncertainSum total;
    for (std::int64_t image = 0; image < e.images; ++image) {
      total.add(sums[static_cast<std::size_t>(image * e.channels + c)]);
    }
    return stored(master, total.sum(e.images * e.pixels, master));
  }
};

}  // namespace

void CheckBackend::group_norm(const GroupNormOptions& options, ConstTensor x,
                              const NormWeights& weights, Tensor mean, Tensor inverse, Tensor y) {
  const Held input = hold(x);
  const Held gamma = hold(weights.gamma);
  const Held beta = hold(weights.beta);
  inner_.group_norm(options, x, weights, mean, inverse, y);
  const Extents e(x, options);
  std::vector<Statistic> statistics(static_cast<std::size_t>(e.images * e.groups));
#pragma omp parallel for schedule(static)
  for (std::int64_t at = 0; at < e.images * e.groups; ++at) {
    statistics[static_cast<std::size_t>(at)] =
        statistic_of(*input, e, at, options.epsilon, mean.dtype);
  }
  const auto statistic = [&](std::int64_t at) { return statistics[static_cast<std::size_t>(at)]; };
  const std::string operation = named("group_norm", options.activation, x.dtype);
  compare(operation, "mean", mean, [&](std::int64_t at) { return statistic(at).mean; });
  compare(operation, "inverse", inverse, [&](std::int64_t at) { return statistic(at).inverse; });
  compare(operation, "y", y, [&](std::int64_t i) {
    const std::int64_t c = i % e.channels;
    const Normalised at =
        normalised((*input)[i], statistic(e.statistic(i)), (*gamma)[c], (*beta)[c], x.dtype);
    return stored(y.dtype, activated(options.activation, at.z, x.dtype));
  });
}

void CheckBackend::group_norm_backward(const GroupNormOptions& options, ConstTensor x,
                                       ConstTensor dy, const NormWeights& weights, ConstTensor mean,
                                       ConstTensor inverse, bool accumulate, Tensor dx,
                                       const NormGradients& gradients) {
  Backward reference{.options = options,
                     .e = Extents(x, options),
                     .x = HostTensor(inner_, x),
                     .dy = HostTensor(inner_, dy),
                     .gamma = HostTensor(inner_, weights.gamma),
                     .beta = HostTensor(inner_, weights.beta),
                     .mean = HostTensor(inner_, mean),
                     .inverse = HostTensor(inner_, inverse)};
  const Held before = hold(accumulate ? ConstTensor(dx) : ConstTensor());
  inner_.group_norm_backward(options, x, dy, weights, mean, inverse, accumulate, dx, gradients);
  reference.sum_up();
  const std::string operation =
      named("group_norm_backward", options.activation, x.dtype) + (accumulate ? " +=" : "");
  compare(operation, "dx", dx, [&](std::int64_t i) {
    const Expected fresh = reference.dx(i);
    return stored(dx.dtype, accumulate ? plus(fresh, {(*before)[i], 0}, dx.dtype) : fresh);
  });
  compare(operation, "dgamma", gradients.gamma, [&](std::int64_t c) {
    return reference.channel(reference.products, c, gradients.gamma.dtype);
  });
  compare(operation, "dbeta", gradients.beta,
          [&](std::int64_t c) { return reference.channel(reference.dz, c, gradients.beta.dtype); });
}

}  // namespace trainbench
