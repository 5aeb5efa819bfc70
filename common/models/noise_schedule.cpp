#include "common/models/noise_schedule.h"

#include <cmath>
#include <numbers>

#include "common/host_values.h"

namespace trainbench {
namespace {

Tensor table_of(Backend& backend, Shape shape, DType dtype, const std::vector<double>& values) {
  const Tensor table = backend.allocate(shape, dtype, MemoryKind::workspace);
  write_values(backend, table, values);
  return table;
}

std::vector<double> normal_quantiles() {
  constexpr std::int64_t kCount = 65536;
  std::vector<double> values(kCount);
  // The upper half mirrors the lower, to the last bit.
  for (std::int64_t i = 0; i < kCount / 2; ++i) {
    const double value = normal_quantile((static_cast<double>(i) + 0.5) / kCount);
    values[static_cast<std::size_t>(i)] = value;
    values[static_cast<std::size_t>(kCount - 1 - i)] = -value;
  }
  return values;
}

}  // namespace

// Starts from formula 26.2.23 of Abramowitz and Stegun (1964), which errs by at most 4.5e-4; two
// steps of Halley's method, each cubing the error, leave that of erfc.
double normal_quantile(double p) {
  if (p > 0.5) return -normal_quantile(1 - p);
  const double t = std::sqrt(-2 * std::log(p));
  double x = (2.515517 + t * (0.802853 + t * 0.010328)) /
                 (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) -
             t;
  for (int i = 0; i < 2; ++i) {
    const double above = std::erfc(-x / std::numbers::sqrt2) / 2 - p;
    const double newton = above * std::sqrt(2 * std::numbers::pi) * std::exp(x * x / 2);
    x -= newton / (1 + x * newton / 2);
  }
  return x;
}

std::vector<double> NoiseSchedule::alpha_bar() const {
  constexpr double kFirst = 1e-4;
  constexpr double kLast = 0.02;
  std::vector<double> products;
  double product = 1;
  for (std::int64_t step = 0; step < steps_; ++step) {
    const double place =
        steps_ > 1 ? static_cast<double>(step) / static_cast<double>(steps_ - 1) : 0;
    product *= 1 - (kFirst + (kLast - kFirst) * place);
    products.push_back(product);
  }
  return products;
}

std::vector<double> NoiseSchedule::features_by_definition() const {
  std::vector<double> values(static_cast<std::size_t>(steps_ * features_));
  const std::int64_t half = features_ / 2;
  for (std::int64_t step = 0; step < steps_; ++step) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double frequency = std::pow(1e4, -static_cast<double>(i) / static_cast<double>(half));
      const double angle = static_cast<double>(step) * frequency;
      double* const row = values.data() + step * features_;
      row[i] = std::sin(angle);
      row[half + i] = std::cos(angle);
    }
  }
  return values;
}

void NoiseSchedule::allocate(Backend& backend, DType compute) {
  std::vector<double> signal;
  std::vector<double> noise;
  for (const double product : alpha_bar()) {
    signal.push_back(std::sqrt(product));
    noise.push_back(std::sqrt(1 - product));
  }
  signal_ = table_of(backend, Shape{steps_}, DType::f32, signal);
  noise_ = table_of(backend, Shape{steps_}, DType::f32, noise);
  normal_ = table_of(backend, Shape{65536}, DType::f32, normal_quantiles());
  step_features_ = table_of(backend, Shape{steps_, features_}, compute, features_by_definition());
}

}  // namespace trainbench
