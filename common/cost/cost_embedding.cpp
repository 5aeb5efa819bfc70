#include <algorithm>

#include "common/cost/cost_backend.h"
#include "common/cost/operand_bytes.h"

namespace trainbench {
namespace {

/// Of a table, no more rows are touched than there are indices.
double touched_bytes(const ConstTensor& table, const ConstTensor& indices) {
  const auto rows = static_cast<double>(std::min(table.shape[0], indices.elements()));
  return rows * static_cast<double>(table.shape[1]) * static_cast<double>(size_of(table.dtype));
}

}  // namespace

void CostBackend::embedding(ConstTensor indices, ConstTensor table, ConstTensor positions,
                            Tensor y) {
  add_traffic("embedding", bytes_of(indices) + touched_bytes(table, indices) + bytes_of(positions) +
                               bytes_of(y));
}

void CostBackend::embedding_backward(ConstTensor indices, ConstTensor dy, bool accumulate,
                                     Tensor dtable, Tensor dpositions) {
  add_traffic("embedding_backward",
              bytes_of(indices) + bytes_of(dy) + bytes_of(dpositions) +
                  (accumulate ? 2 * touched_bytes(dtable, indices) : bytes_of(dtable)));
}

}  // namespace trainbench
