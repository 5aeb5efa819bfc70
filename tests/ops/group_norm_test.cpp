#include "tests/ops/op_test.h"

namespace trainbench {
namespace {

struct Images {
  std::int64_t images, height, width, channels, groups;

  Shape shape() const { return {images, height, width, channels}; }
  Shape statistics() const { return {images, groups}; }
  std::size_t pixels() const { return static_cast<std::size_t>(height * width); }
  std::size_t group_of(std::size_t channel) const {
    return channel / static_cast<std::size_t>(channels / groups);
  }
  /// Elements of a group in an image.
  double count() const { return static_cast<double>(height * width * channels / groups); }
};

// Groups of one element, of one channel and of all; rows that no vector or block divides.
constexpr Images kImages[] = {{1, 1, 1, 3, 3}, {2, 3, 5, 12, 4},  {3, 4, 4, 64, 8},
                              {2, 5, 7, 9, 1}, {1, 9, 11, 24, 8}, {2, 2, 3, 1030, 2}};

struct Statistics {
  Values mean, mean_error;
  Values inverse, inverse_error;
};

/// Errors in u: a sum of n terms errs by n + 1 of its magnitude; the variance besides by the square
/// of what the mean is off, as the deviations add up to zero; its root halves that and rounds twice
/// more.
Statistics statistics_of(const Images& i, const Values& x, double epsilon, DType compute,
                         DType master) {
  const auto channels = static_cast<std::size_t>(i.channels);
  const auto groups = static_cast<std::size_t>(i.groups);
  const std::size_t width = channels / groups;
  const double u = arithmetic_roundoff(compute);
  Statistics s;
  for (std::size_t image = 0; image < static_cast<std::size_t>(i.images); ++image) {
    for (std::size_t group = 0; group < groups; ++group) {
      const auto over_group = [&](auto f) {
        double sum = 0;
        for (std::size_t p = 0; p < i.pixels(); ++p) {
          for (std::size_t c = group * width; c < (group + 1) * width; ++c) {
            sum += f(x[(image * i.pixels() + p) * channels + c]);
          }
        }
        return sum / i.count();
      };
      const double mean = over_group([](double v) { return v; });
      const double size = over_group([](double v) { return std::abs(v); });
      const double variance = over_group([&](double v) { return (v - mean) * (v - mean); });
      const double mean_error = (i.count() + 2) * u * size + storage_tolerance(master, mean);
      const double variance_error = (i.count() + 4) * u * variance + mean_error * mean_error;
      const double inverse = 1 / std::sqrt(variance + epsilon);
      s.mean.push_back(mean);
      s.mean_error.push_back(mean_error);
      s.inverse.push_back(inverse);
      s.inverse_error.push_back(inverse * (variance_error / (variance + epsilon) / 2 + 3 * u) +
                                storage_tolerance(master, inverse));
    }
  }
  return s;
}

class GroupNormTest : public OpTest {
 protected:
  struct Norm {
    GroupNormOptions options;
    Tensor x, gamma, beta, mean, inverse, y;
    NormWeights weights() const { return {gamma, beta}; }
  };

  /// Data about a mean of some deviations, as activations have it.
  Norm forward(const Images& i, Activation activation) {
    Norm n{.options = {.groups = i.groups, .epsilon = 1e-3, .activation = activation},
           .x = random(i.shape(), compute(), -1, 3),
           .gamma = random({i.channels}, compute(), 0.5, 1.5),
           .beta = random({i.channels}, compute()),
           .mean = guarded(i.statistics(), master()),
           .inverse = guarded(i.statistics(), master()),
           .y = guarded(i.shape(), compute())};
    backend().group_norm(n.options, n.x, n.weights(), n.mean, n.inverse, n.y);
    return n;
  }

  /// The element's normalised x and what follows, with statistics known to within `s`.
  struct Element {
    double normal, normal_error;
    double z, z_error;
  };
  Element element(const Images& i, const Statistics& s, std::size_t index, double x, double gamma,
                  double beta) const {
    const auto channels = static_cast<std::size_t>(i.channels);
    const std::size_t image = index / (i.pixels() * channels);
    const std::size_t at =
        image * static_cast<std::size_t>(i.groups) + i.group_of(index % channels);
    const double u = arithmetic_roundoff(compute());
    Element e{};
    e.normal = (x - s.mean[at]) * s.inverse[at];
    e.normal_error = s.mean_error[at] * s.inverse[at] +
                     (std::abs(x - s.mean[at]) + s.mean_error[at]) * s.inverse_error[at] +
                     2 * u * std::abs(e.normal);
    e.z = e.normal * gamma + beta;
    e.z_error =
        std::abs(gamma) * e.normal_error + 2 * u * (std::abs(e.normal * gamma) + std::abs(e.z));
    return e;
  }

  void expect_backward(const Images& i, Activation activation, bool accumulate, bool in_place);
};

TEST_P(GroupNormTest, NormalisesEachGroupOfAnImage) {
  for (const Images& i : kImages) {
    for (const Activation activation : {Activation::none, Activation::silu}) {
      SCOPED_TRACE(i.shape().to_string());
      const Norm n = forward(i, activation);
      const Values x = values(n.x);
      const Values gamma = values(n.gamma);
      const Values beta = values(n.beta);
      const Statistics s = statistics_of(i, x, n.options.epsilon, compute(), master());
      expect_near(n.mean, s.mean, s.mean_error);
      expect_near(n.inverse, s.inverse, s.inverse_error);
      Values expected;
      Values tolerance;
      for (std::size_t index = 0; index < x.size(); ++index) {
        const std::size_t c = index % gamma.size();
        const Element e = element(i, s, index, x[index], gamma[c], beta[c]);
        expected.push_back(activation_value(activation, e.z));
        tolerance.push_back(activation_tolerance(activation, compute(), e.z, e.z_error) +
                            storage_tolerance(compute(), expected.back()));
      }
      expect_near(n.y, expected, tolerance);
    }
  }
}

/// A sum's value, the magnitude of its terms and what they are off by.
struct Sum {
  double value = 0, magnitude = 0, error = 0;

  void add(double term, double off) {
    value += term;
    magnitude += std::abs(term);
    error += off;
  }
};

/// By the chain rule: with e = gamma dz, dx = inverse (e - mean(e) - normal mean(e normal)), the
/// means over the group, dgamma = sum dz normal, dbeta = sum dz.
void GroupNormTest::expect_backward(const Images& i, Activation activation, bool accumulate,
                                    bool in_place) {
  const Norm n = forward(i, activation);
  const Tensor dy = random(i.shape(), compute());
  const Tensor dx = in_place ? dy : random(i.shape(), compute());
  const Values before = values(dx);
  const Values x = values(n.x);
  const Values gamma = values(n.gamma);
  const Values beta = values(n.beta);
  const Values incoming = values(dy);
  const NormGradients gradients{guarded({i.channels}, master()), guarded({i.channels}, master())};
  backend().group_norm_backward(n.options, n.x, dy, n.weights(), n.mean, n.inverse, accumulate, dx,
                                gradients);

  // The statistics are operands here: exactly what the forward pass left.
  const Values none(values(n.mean).size(), 0.0);
  const Statistics s{values(n.mean), none, values(n.inverse), none};
  const double u = arithmetic_roundoff(compute());
  const auto groups = static_cast<std::size_t>(i.groups);
  const std::size_t channels = gamma.size();
  std::vector<Sum> dgamma(channels), dbeta(channels);
  std::vector<Sum> first(s.mean.size()), second(s.mean.size());
  std::vector<Element> elements;
  Values dz, dz_error;
  const auto group_at = [&](std::size_t index) {
    return index / (i.pixels() * channels) * groups + i.group_of(index % channels);
  };
  for (std::size_t index = 0; index < x.size(); ++index) {
    const std::size_t c = index % channels;
    const Element e = element(i, s, index, x[index], gamma[c], beta[c]);
    const double slope = activation_slope(activation, e.z);
    const double g = incoming[index] * slope;
    const double g_error =
        std::abs(incoming[index]) * slope_tolerance(activation, compute(), e.z, e.z_error) +
        u * std::abs(g);
    elements.push_back(e);
    dz.push_back(g);
    dz_error.push_back(g_error);
    const double product_error =
        g_error * std::abs(e.normal) + std::abs(g) * e.normal_error + u * std::abs(g * e.normal);
    dbeta[c].add(g, g_error);
    dgamma[c].add(g * e.normal, product_error);
    first[group_at(index)].add(gamma[c] * g, std::abs(gamma[c]) * g_error);
    second[group_at(index)].add(gamma[c] * g * e.normal, std::abs(gamma[c]) * product_error);
  }
  const auto sum_error = [&](const Sum& sum, double terms) {
    return sum.error + (terms + 2) * u * sum.magnitude;
  };

  Values expected, tolerance;
  for (std::size_t index = 0; index < x.size(); ++index) {
    const std::size_t at = group_at(index);
    const Element& e = elements[index];
    const double scaled = gamma[index % channels] * dz[index];
    const double mean = first[at].value / i.count();
    const double product = second[at].value / i.count();
    const double sums =
        sum_error(first[at], i.count()) + std::abs(e.normal) * sum_error(second[at], i.count());
    const double error = std::abs(gamma[index % channels]) * dz_error[index] + sums / i.count() +
                         e.normal_error * std::abs(product) +
                         6 * u * (std::abs(scaled) + std::abs(mean) + std::abs(e.normal * product));
    const double old = accumulate ? before[index] : 0;
    expected.push_back(old + s.inverse[at] * (scaled - mean - e.normal * product));
    tolerance.push_back(s.inverse[at] * error + u * std::abs(expected.back()) +
                        storage_tolerance(compute(), expected.back()));
  }
  expect_near(dx, expected, tolerance);
  for (const auto& [tensor, sums] :
       {std::pair(gradients.gamma, dgamma), std::pair(gradients.beta, dbeta)}) {
    Values right, near;
    for (const Sum& sum : sums) {
      right.push_back(sum.value);
      near.push_back(
          sum_error(sum, static_cast<double>(i.images) * static_cast<double>(i.pixels())) +
          storage_tolerance(master(), sum.value));
    }
    expect_near(tensor, right, near);
  }
}

TEST_P(GroupNormTest, PassesTheGradientBack) {
  for (const Images& i : kImages) {
    SCOPED_TRACE(i.shape().to_string());
    for (const Activation activation : {Activation::none, Activation::silu}) {
      expect_backward(i, activation, false, false);
      expect_backward(i, activation, false, true);
      expect_backward(i, activation, true, false);
    }
  }
}

// The variance of numbers that are large against their spread: where squares are summed about zero,
// fp32 has no digit of it left.
TEST_P(GroupNormTest, ALargeMeanDoesNotHideTheSpread) {
  if (size_of(compute()) == 2) GTEST_SKIP() << "16 bits cannot hold such numbers";
  const Images i{1, 8, 8, 8, 2};
  Values shifted = random_values(i.shape().elements(), 77, 0, 1);
  for (double& value : shifted) value += 4096;
  const Tensor x = guarded(i.shape(), compute(), shifted);
  const Tensor ones = guarded({i.channels}, compute(), Values(8, 1.0));
  const Tensor zeros = guarded({i.channels}, compute(), Values(8, 0.0));
  const Tensor mean = guarded(i.statistics(), master());
  const Tensor inverse = guarded(i.statistics(), master());
  backend().group_norm({.groups = 2}, x, {ones, zeros}, mean, inverse,
                       guarded(i.shape(), compute()));
  const Statistics s = statistics_of(i, values(x), 1e-5, compute(), master());
  // Roundings of the mean, 2^-12 here, enter squared.
  Values tolerance;
  for (const double value : s.inverse) tolerance.push_back(value * 0x1p-16);
  expect_near(inverse, s.inverse, tolerance);
}

INSTANTIATE_TEST_SUITE_P(Devices, GroupNormTest, testing::ValuesIn(op_params(test_devices())),
                         param_name);

}  // namespace
}  // namespace trainbench
