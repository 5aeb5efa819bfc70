#include "common/nn/parameters.h"

#include "common/core/philox.h"

namespace trainbench {

std::size_t ParameterLayout::add(std::string name, Shape shape, double bound) {
  specs_.push_back({std::move(name), shape, bound, elements_});
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
      first[i] = random.uniform(static_cast<std::uint64_t>(i), -spec.bound, spec.bound);
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
  set(backend, layout.initial_values(seed));
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
