#include "bench/families/stream.h"

#include <cmath>

#include "bench/families/probe_case.h"
#include "bench/families/uniform.h"
#include "common/core/error.h"
#include "common/report/numbers.h"

namespace trainbench {
namespace {

const StreamForm& form_named(const std::string& name) {
  for (const StreamForm& form : kStreamForms) {
    if (form.name == name) return form;
  }
  throw InputError("unknown stream kernel \"" + name + "\"");
}

/// What an element of a kernel's result, or a term of its sum, is in exact arithmetic, and the sum
/// of the magnitudes that its error is measured by.
struct Exact {
  double value = 0;
  double magnitude = 0;
};

Exact exact(StreamKernel kernel, double b, double c) {
  constexpr double s = kStreamFactor;
  switch (kernel) {
    case StreamKernel::copy:
    case StreamKernel::read:
      return {b, std::abs(b)};
    case StreamKernel::scale:
      return {s * b, std::abs(s * b)};
    case StreamKernel::add:
      return {b + c, std::abs(b + c)};
    case StreamKernel::triad:
      return {b + s * c, std::abs(b) + std::abs(s * c)};
    case StreamKernel::dot:
      return {b * c, std::abs(b * c)};
    case StreamKernel::write:
      return {s, s};
  }
  return {};
}

/// Largest errors of a comparison, as the harness reports them.
struct Comparison {
  double error = 0;
  double largest = 0;  ///< magnitude of a reference
  double used = 0;     ///< the largest error's share of its bound
  std::int64_t compared = 0;

  void add(double value, double reference, double bound, const std::string& what) {
    const double off = std::abs(value - reference);
    if (!(off <= bound)) {
      throw DeviceError("output check failed: " + what + " is " + significant(value, 9) +
                        " instead of " + significant(reference, 9) + ", allowed is an error of " +
                        significant(bound, 3));
    }
    error = std::max(error, off);
    largest = std::max(largest, std::abs(reference));
    if (bound > 0) used = std::max(used, off / bound);
    ++compared;
  }
};

class StreamCase : public ProbeCase {
 public:
  StreamCase(const SuiteCase& wanted, RunEnvironment& environment)
      : ProbeCase(wanted, environment), form_(form_named(wanted.id.name)) {
    const std::int64_t bytes = working_set(wanted.id, form_.arrays(), false);
    const auto element = static_cast<std::int64_t>(sizeof(float));
    count_ =
        std::max(bytes / form_.arrays() / element / kStreamGrain, std::int64_t{1}) * kStreamGrain;
    if (form_.writes) backend().fill_zero(operands_.a = array());
    if (form_.reads_b) operands_.b = filled(b_);
    if (form_.reads_c) operands_.c = filled(c_);
    if (!form_.writes) {
      operands_.sum = backend().allocate(Shape{1}, DType::f64, MemoryKind::workspace);
    }
  }

  void check(CaseResult& result) override {
    probes().stream(form_.kernel, operands_, 1);
    Comparison comparison;
    if (form_.writes) {
      compare_elements(comparison);
    } else {
      compare_sum(comparison);
    }
    result.counters["max_relative_error"] = comparison.error / comparison.largest;
    result.counters["error_of_tolerance"] = comparison.used;
    result.counters["checked_outputs"] = static_cast<double>(comparison.compared);
    const std::size_t bytes = operands_.bytes(form_.kernel);
    result.counters["bytes_per_iteration"] = static_cast<double>(bytes);
    label_working_set(result, static_cast<std::int64_t>(bytes), false);
    result.details["formula"] = form_.formula;
    if (form_.writes) result.details["stores"] = probes().stream_stores(bytes);
  }

 private:
  void enqueue(std::int64_t iterations) override {
    probes().stream(form_.kernel, operands_, iterations);
  }

  Tensor array() { return backend().allocate(Shape{count_}, DType::f32, MemoryKind::workspace); }

  Tensor filled(const UniformArray& values) {
    const Tensor tensor = array();
    values.write(backend(), tensor);
    return tensor;
  }

  /// Every element: a product and a sum, each rounded once, or both together.
  void compare_elements(Comparison& comparison) {
    const double u = unit_roundoff(DType::f32);
    const bool moves_only =
        form_.kernel == StreamKernel::copy || form_.kernel == StreamKernel::write;
    UniformArray::for_chunks(count_, [&](std::int64_t first, std::int64_t count) {
      std::vector<float> a(static_cast<std::size_t>(count));
      backend().copy_to_host(a.data(), operands_.a.range(first, count));
      const std::vector<float> b = inputs(b_, form_.reads_b, first, count);
      const std::vector<float> c = inputs(c_, form_.reads_c, first, count);
      for (std::size_t i = 0; i < a.size(); ++i) {
        const Exact element = exact(form_.kernel, b[i], c[i]);
        const double bound = moves_only ? 0 : 2 * u * (1 + u) * element.magnitude;
        const std::int64_t index = first + static_cast<std::int64_t>(i);
        // The name is made for the element that fails alone.
        const bool good = std::abs(a[i] - element.value) <= bound;
        comparison.add(a[i], element.value, bound,
                       good ? std::string() : "a[" + std::to_string(index) + "]");
      }
    });
  }

  /// Chains of at most n = kStreamChain roundings, and one of the product, in fp32 err by at most
  /// n u / (1 - n u) of the sum of magnitudes (Higham, Accuracy and Stability of Numerical
  /// Algorithms, 2002, 3.1); what follows in double by one 2^-53 an element at most, as does the
  /// reference.
  void compare_sum(Comparison& comparison) {
    Exact sum;
    UniformArray::for_chunks(count_, [&](std::int64_t first, std::int64_t count) {
      const std::vector<float> b = inputs(b_, form_.reads_b, first, count);
      const std::vector<float> c = inputs(c_, form_.reads_c, first, count);
      for (std::size_t i = 0; i < b.size(); ++i) {
        const Exact term = exact(form_.kernel, b[i], c[i]);
        sum.value += term.value;
        sum.magnitude += term.magnitude;
      }
    });
    double value = 0;
    backend().copy_to_host(&value, operands_.sum);
    const double n = (kStreamChain + 1) * unit_roundoff(DType::f32);
    const double in_double = 2 * static_cast<double>(count_) * unit_roundoff(DType::f64);
    comparison.add(value, sum.value, (n / (1 - n) + in_double) * sum.magnitude, "the sum");
  }

  static std::vector<float> inputs(const UniformArray& values, bool used, std::int64_t first,
                                   std::int64_t count) {
    std::vector<float> read(static_cast<std::size_t>(count));
    if (used) values.read(first, read);
    return read;
  }

  const StreamForm& form_;
  const UniformArray b_{seed(), 1};
  const UniformArray c_{seed(), 2};
  std::int64_t count_ = 0;
  StreamOperands operands_;
};

}  // namespace

std::unique_ptr<PreparedCase> prepare_stream(const SuiteCase& wanted, RunEnvironment& environment) {
  return std::make_unique<StreamCase>(wanted, environment);
}

}  // namespace trainbench
