#include "common/nn/optimizer.h"

namespace trainbench {

Optimizer::Optimizer(Backend& backend, const Parameters& parameters,
                     const OptimizerOptions& options)
    : options_(options) {
  const Tensor master = parameters.master();
  first_ = backend.allocate(master.shape, master.dtype, MemoryKind::optimizer);
  backend.fill_zero(first_);
  if (std::holds_alternative<AdamOptions>(options_)) {
    second_ = backend.allocate(master.shape, master.dtype, MemoryKind::optimizer);
    backend.fill_zero(second_);
  }
}

void Optimizer::update(Backend& backend, const Parameters& parameters, ConstTensor state) const {
  if (const auto* sgd = std::get_if<SgdOptions>(&options_)) {
    backend.sgd(*sgd, parameters.update(), first_, state);
  } else {
    backend.adamw(std::get<AdamOptions>(options_), parameters.update(), first_, second_, state);
  }
}

}  // namespace trainbench
