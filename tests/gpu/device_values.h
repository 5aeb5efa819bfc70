#pragma once

#include <cstdint>

#include "common/core/philox.h"
#include "common/host_values.h"

namespace trainbench {

/// A tensor of values uniform in [-1, 1), rounded to its dtype, that begins `offset` elements into
/// its allocation: an odd offset rules out vector accesses.
inline Tensor random_tensor(Backend& backend, const Shape& shape, DType dtype, std::uint64_t stream,
                            std::int64_t offset = 0) {
  const std::int64_t count = shape.elements();
  const Tensor whole = backend.allocate(Shape{offset + count}, dtype, MemoryKind::activations);
  const Philox random(7, stream);
  std::vector<double> values(static_cast<std::size_t>(offset + count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = random.uniform(i, -1, 1);
  write_values(backend, whole, values);
  return whole.range(offset, count).reshaped(shape);
}

}  // namespace trainbench
