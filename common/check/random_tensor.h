#pragma once

#include <cstdint>
#include <vector>

#include "common/core/philox.h"
#include "common/host_values.h"

namespace trainbench {

/// `count` numbers uniform in [low, high).
inline std::vector<double> random_values(std::int64_t count, std::uint64_t stream, double low = -1,
                                         double high = 1) {
  const Philox random(20240229, stream);
  std::vector<double> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = random.uniform(i, low, high);
  return values;
}

/// A new tensor with those values, rounded to its dtype.
inline Tensor tensor_of(Backend& backend, Shape shape, DType dtype,
                        const std::vector<double>& values) {
  const Tensor tensor = backend.allocate(shape, dtype, MemoryKind::workspace);
  write_values(backend, tensor, values);
  return tensor;
}

/// A new tensor of numbers uniform in [low, high).
inline Tensor random_tensor(Backend& backend, Shape shape, DType dtype, std::uint64_t stream,
                            double low = -1, double high = 1) {
  return tensor_of(backend, shape, dtype, random_values(shape.elements(), stream, low, high));
}

}  // namespace trainbench
