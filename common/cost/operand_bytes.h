#pragma once

#include "common/core/tensor.h"

namespace trainbench {

/// Bytes of an operand, none where it is absent: what reading or writing it once moves.
inline double bytes_of(const ConstTensor& tensor) {
  return tensor.absent() ? 0.0 : static_cast<double>(tensor.bytes());
}

}  // namespace trainbench
