#pragma once

#include "common/backend.h"

namespace trainbench {

/// How a pass over a model computes: on what, in which arithmetic, fused or by separate operations,
/// to train or to evaluate.
struct Pass {
  Backend& backend;
  MathMode math = MathMode::exact;
  bool fused = true;
  bool training = true;  ///< false: norms use their running statistics, nothing is dropped
  ConstTensor state{};   ///< the step's scalars, on which random masks and noise depend
};

/// What memory a layer or model needs.
struct Extent {
  std::int64_t batch = 0;
  DType compute = DType::f32;
  DType master = DType::f32;
  bool training = true;  ///< false: forward only, nothing is kept for a backward pass
  bool fused = true;     ///< false: a layer may keep what its separate passes leave each other
};

/// An activation whose derivative a layer above multiplies its input gradient by.
struct SavedActivation {
  Activation activation = Activation::none;
  ConstTensor saved;
};

}  // namespace trainbench
