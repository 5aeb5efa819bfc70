#include <cmath>
#include <limits>

#include "common/check/check_backend.h"
#include "common/check/expected.h"
#include "common/check/reference.h"

namespace trainbench {

void CheckBackend::embedding(ConstTensor indices, ConstTensor table, ConstTensor positions,
                             Tensor y) {
  const Held rows = hold(indices);
  const Held entries = hold(table);
  const Held shifts = hold(positions);
  inner_.embedding(indices, table, positions, y);
  const std::int64_t columns = table.shape[1];
  const double u = working_roundoff(accumulator_of(y.dtype));
  compare(named("embedding", y.dtype), "y", y, [&](std::int64_t i) {
    const std::int64_t row = i / columns;
    const std::int64_t entry = rows->as<std::int32_t>()[row];
    if (entry < 0 || entry >= table.shape[0]) {
      return Expected{std::numeric_limits<double>::quiet_NaN(), 0};
    }
    const double value = (*entries)[entry * columns + i % columns];
    if (shifts->absent()) return Expected{value, 0};
    const double sum = value + (*shifts)[row % positions.shape[0] * columns + i % columns];
    return stored(y.dtype, {sum, u * std::abs(sum)});
  });
}

void CheckBackend::embedding_backward(ConstTensor indices, ConstTensor dy, bool accumulate,
                                      Tensor dtable, Tensor dpositions) {
  const Held rows = hold(indices);
  const Held slopes = hold(dy);
  const Held before = hold(accumulate ? ConstTensor(dtable) : ConstTensor());
  inner_.embedding_backward(indices, dy, accumulate, dtable, dpositions);
  const std::int64_t count = indices.elements();
  const std::int64_t columns = dtable.shape[1];
  const std::int32_t* index = rows->as<std::int32_t>();
  const auto bounded = [](const Sum& terms, std::int64_t length, DType dtype) {
    return Expected{terms.value, summation_error(length, dtype, terms.magnitude)};
  };
  const std::string operation = named("embedding_backward", dy.dtype);
  compare(operation, "dtable", dtable, [&](std::int64_t i) {
    Sum terms;
    std::int64_t length = 1;
    if (!before->absent()) terms.add((*before)[i]);
    for (std::int64_t row = 0; row < count; ++row) {
      if (index[row] != i / columns) continue;
      terms.add((*slopes)[row * columns + i % columns]);
      ++length;
    }
    return bounded(terms, length, dtable.dtype);
  });
  if (dpositions.absent()) return;
  const std::int64_t steps = dpositions.shape[0];
  compare(operation, "dpositions", dpositions, [&](std::int64_t i) {
    const Sum terms = sum({*slopes, i, steps * columns}, count / steps);
    return bounded(terms, count / steps, dpositions.dtype);
  });
}

}  // namespace trainbench
