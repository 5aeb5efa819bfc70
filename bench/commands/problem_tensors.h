#pragma once

#include "common/check/random_tensor.h"

namespace trainbench {

/// Fresh tensors for one problem after the other, of a precision's types.
class ProblemTensors {
 public:
  ProblemTensors(Backend& via, Backend& memory, const Precision& precision)
      : via_(via), memory_(memory), precision_(precision) {}

 protected:
  Tensor random(Shape shape, DType dtype, double low = -1, double high = 1) {
    return random_tensor(memory_, shape, dtype, ++stream_, low, high);
  }
  Tensor random(Shape shape) { return random(shape, precision_.compute); }
  Tensor fresh(Shape shape, DType dtype) {
    return memory_.allocate(shape, dtype, MemoryKind::workspace);
  }
  Tensor fresh(Shape shape) { return fresh(shape, precision_.compute); }
  /// Weights' gradients and statistics.
  Tensor fresh_master(Shape shape) { return fresh(shape, precision_.master); }

  Backend& via_;     ///< computes
  Backend& memory_;  ///< owns the tensors
  const Precision& precision_;

 private:
  std::uint64_t stream_ = 0;
};

}  // namespace trainbench
