#include "common/check/check_backend.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "common/check/samples.h"

namespace trainbench {
namespace {

/// The part of its bound that an element's error takes; infinite where it must not differ at all.
double used_of_bound(DType dtype, double actual, const Expected& expected) {
  constexpr double kFailed = std::numeric_limits<double>::infinity();
  if (std::isnan(expected.value)) return std::isnan(actual) ? 0 : kFailed;
  if (std::isinf(expected.value)) return actual == expected.value ? 0 : kFailed;
  if (std::isinf(expected.bound)) return 0;
  if (std::isnan(actual)) return kFailed;
  if (std::isinf(actual)) {
    const bool may_overflow =
        std::abs(expected.value) + expected.bound >= overflow_threshold(dtype);
    return may_overflow && std::signbit(actual) == std::signbit(expected.value) ? 0 : kFailed;
  }
  const double error = std::abs(actual - expected.value);
  if (error == 0) return 0;
  return expected.bound > 0 ? error / expected.bound : kFailed;
}

/// The last extent: the length of a row.
std::int64_t columns_of(const Shape& shape) {
  return shape.rank() == 0 ? 1 : std::max<std::int64_t>(1, shape[shape.rank() - 1]);
}

}  // namespace

std::string OutputCheck::describe() const {
  char numbers[160];
  std::snprintf(numbers, sizeof numbers, "%.9g, expected %.9g +- %.2g (element %lld)", worst_value,
                worst_reference, worst_bound, static_cast<long long>(worst_index));
  return operation + ": " + output + " is " + numbers + "; " + std::to_string(failures) + " of " +
         std::to_string(compared) + " checked elements are wrong";
}

CheckSummary CheckBackend::summary() const {
  CheckSummary summary;
  const OutputCheck* worst = nullptr;
  for (const OutputCheck& output : outputs_) {
    summary.passed = summary.passed && output.passed();
    summary.outputs += output.compared;
    summary.max_relative_error = std::max(summary.max_relative_error, output.max_relative_error);
    if (worst == nullptr || output.used > worst->used) worst = &output;
  }
  if (worst != nullptr) {
    summary.used = worst->used;
    summary.worst = worst->describe();
  }
  return summary;
}

CheckBackend::Held CheckBackend::hold(ConstTensor tensor) {
  return std::make_shared<const HostTensor>(inner_, tensor);
}

OutputCheck& CheckBackend::entry(const std::string& operation, const std::string& output) {
  for (OutputCheck& known : outputs_) {
    if (known.operation == operation && known.output == output) return known;
  }
  outputs_.push_back({.operation = operation, .output = output});
  return outputs_.back();
}

void CheckBackend::compare(const std::string& operation, const std::string& output,
                           const ConstTensor& tensor, const Reference& reference,
                           std::int64_t samples) {
  if (tensor.absent()) return;
  const HostTensor actual(inner_, tensor);
  const std::vector<std::int64_t> positions = sample_positions(
      tensor.elements(), columns_of(tensor.shape), samples, Philox(seed_, comparisons_++));
  std::vector<Expected> expected(positions.size());
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < positions.size(); ++i) expected[i] = reference(positions[i]);

  OutputCheck& check = entry(operation, output);
  double largest = 0;
  double largest_error = 0;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    const double value = actual[positions[i]];
    const double used = used_of_bound(tensor.dtype, value, expected[i]);
    const double error = std::abs(value - expected[i].value);
    if (std::isfinite(error)) largest_error = std::max(largest_error, error);
    if (std::isfinite(expected[i].value)) {
      largest = std::max(largest, std::abs(expected[i].value));
    }
    if (used > 1) ++check.failures;
    if (used > check.used || (check.calls == 0 && i == 0)) {
      check.used = used;
      check.worst_index = positions[i];
      check.worst_value = value;
      check.worst_reference = expected[i].value;
      check.worst_bound = expected[i].bound;
    }
  }
  ++check.calls;
  check.compared += static_cast<std::int64_t>(positions.size());
  check.max_error = std::max(check.max_error, largest_error);
  if (largest > 0) {
    check.max_relative_error = std::max(check.max_relative_error, largest_error / largest);
  }
}

void CheckBackend::compare_state(const std::string& operation, const StepState& expected,
                                 ConstTensor state) {
  const StepState actual = state_of(state);
  const auto fields = [](const StepState& s) {
    return std::vector<double>{s.learning_rate,
                               s.loss_scale,
                               static_cast<double>(s.step),
                               static_cast<double>(s.clean_steps),
                               static_cast<double>(s.nonfinite),
                               static_cast<double>(s.skipped_steps),
                               s.clip_factor,
                               s.gradient_scale,
                               static_cast<double>(s.seed)};
  };
  const std::vector<double> right = fields(expected);
  const std::vector<double> found = fields(actual);
  OutputCheck& check = entry(operation, "state");
  ++check.calls;
  for (std::size_t i = 0; i < right.size(); ++i) {
    ++check.compared;
    if (found[i] == right[i]) continue;
    ++check.failures;
    check.used = std::numeric_limits<double>::infinity();
    check.worst_index = static_cast<std::int64_t>(i);
    check.worst_value = found[i];
    check.worst_reference = right[i];
  }
}

const CheckBackend::Reference& CheckBackend::activation_input(ConstTensor saved) const {
  const auto found = activation_inputs_.find(saved.data);
  require(found != activation_inputs_.end(),
          "the forward pass went through the backend that checks the backward pass");
  return found->second;
}

std::unique_ptr<Recording> CheckBackend::record(const std::function<void()>&) {
  throw Unsupported("a checked step waits for the device and cannot be recorded");
}

}  // namespace trainbench
