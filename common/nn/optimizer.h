#pragma once

#include <memory>
#include <variant>

#include "common/nn/parameters.h"

namespace trainbench {

using OptimizerOptions = std::variant<SgdOptions, AdamOptions>;

/// The optimizer's state on the device and its update: one pass over the flat buffers.
class Optimizer {
 public:
  Optimizer(Backend& backend, const Parameters& parameters, const OptimizerOptions& options);

  void update(Backend& backend, const Parameters& parameters, ConstTensor state) const;

 private:
  OptimizerOptions options_;
  Tensor first_;   // velocity, or first moment
  Tensor second_;  // second moment; absent for SGD
};

}  // namespace trainbench
