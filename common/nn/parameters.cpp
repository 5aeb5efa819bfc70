#include "common/nn/parameters.h"

#include <cmath>
#include <numbers>

#include "common/core/philox.h"

namespace trainbench {
namespace {

/// The index-th value of a parameter. Normal ones by Box and Muller (Ann. Math. Statist. 29, 1958).
double initial_value(const Initial& initial, const Philox& random, std::uint64_t index) {
  switch (initial.kind) {
    case Initial::Kind::uniform:
      return random.uniform(index, -initial.spread, initial.spread);
    case Initial::Kind::normal: {
      const double radius = std::sqrt(-2 * std::log(1 - random.uniform(2 * index)));
      return initial.spread * radius *
             std::cos(2 * std::numbers::pi * random.uniform(2 * index + 1));
    }
    case Initial::Kind::constant:
      return initial.value;
  }
  return 0;
}

}  // namespace

std::size_t ParameterLayout::add(std::string name, Shape shape, const Initial& initial) {
  specs_.push_back({std::move(name), shape, initial, elements_});
  parameter_count_ += shape.elements();
  elements_ += (shape.elements() + kAlignment - 1) / kAlignment * kAlignment;
  return specs_.size() - 1;
}

std::vector<double> ParameterLayout::initial_values(std::uint64_t seed) const {
  std::vector<double> values(static_cast<std::size_t>(elements_), 0.0);
  for (std::size_t index = 0; index < specs_.size(); ++index) {
    const ParameterSpec& spec = specs_[index];
    const Philox random(seed, index);
    double* const first = values.data() + spec.offset;
    const std::int64_t count = spec.shape.elements();
#pragma omp parallel for schedule(static)
    for (std::int64_t i = 0; i < count; ++i) {
      first[i] = initial_value(spec.initial, random, static_cast<std::uint64_t>(i));
    }
  }
  return values;
}

Parameters::Parameters(Backend& backend, const ParameterLayout& layout, const Precision& precision,
                       std::uint64_t seed)
    : layout_(&layout) {
  const Shape flat{layout.elements()};
  master_ = backend.allocate(flat, precision.master, MemoryKind::parameters);
  if (precision.has_master_copy()) {
    copy_ = backend.allocate(flat, precision.compute, MemoryKind::parameters);
  }
  gradients_ = backend.allocate(flat, precision.master, MemoryKind::gradients);
  backend.fill_zero(gradients_);
  // Without memory there is nothing to start: a plan of a model that fits nowhere costs no time.
  if (master_.data != nullptr) set(backend, layout.initial_values(seed));
}

ConstTensor Parameters::weight(std::size_t index) const {
  const ParameterSpec& spec = layout_->specs()[index];
  const Tensor& read = copy_.absent() ? master_ : copy_;
  return read.range(spec.offset, spec.shape.elements()).reshaped(spec.shape);
}

Tensor Parameters::gradient(std::size_t index) const {
  const ParameterSpec& spec = layout_->specs()[index];
  return gradients_.range(spec.offset, spec.shape.elements()).reshaped(spec.shape);
}

void Parameters::set(Backend& backend, const std::vector<double>& values) {
  if (master_.dtype == DType::f64) {
    backend.copy_from_host(master_, values.data());
  } else {
    const std::vector<float> rounded(values.begin(), values.end());
    backend.copy_from_host(master_, rounded.data());
  }
  if (!copy_.absent()) backend.cast(master_, copy_);
}

}  // namespace trainbench
