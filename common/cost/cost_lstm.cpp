#include "common/cost/cost_backend.h"
#include "common/cost/operand_bytes.h"

namespace trainbench {
namespace {

/// The recurrent products: of every step but one, whose state is zero or whose gradient is
/// nobody's.
double recurrent_flops(const Shape& gates, std::int64_t units) {
  const std::int64_t rows = (gates[0] - 1) * gates[1];
  return 2.0 * static_cast<double>(rows) * static_cast<double>(gates[2]) *
         static_cast<double>(units);
}

double bytes_of(const LstmTrace& trace) {
  return bytes_of(trace.gates) + bytes_of(trace.cells) + bytes_of(trace.hidden);
}

}  // namespace

void CostBackend::shift_tokens(ConstTensor from, bool, Tensor inputs, Tensor targets) {
  add_traffic("shift_tokens", bytes_of(from) + bytes_of(inputs) + bytes_of(targets));
}

void CostBackend::lstm(ConstTensor inputs, ConstTensor weights, const LstmTrace& trace, MathMode) {
  count("lstm", 1,
        {recurrent_flops(inputs.shape, weights.shape[1]),
         bytes_of(inputs) + bytes_of(weights) + bytes_of(trace)});
}

void CostBackend::lstm_backward(ConstTensor weights, const LstmTrace& trace, Tensor dhidden,
                                Tensor dgates, MathMode) {
  // The outputs themselves are the weight gradient's to read.
  count("lstm_backward", 1,
        {recurrent_flops(dgates.shape, weights.shape[1]),
         bytes_of(weights) + bytes_of(trace.gates) + bytes_of(trace.cells) + 2 * bytes_of(dhidden) +
             bytes_of(dgates)});
}

void CostBackend::lstm_cell(Tensor gates, ConstTensor previous, Tensor cells, Tensor hidden) {
  add_traffic("lstm_cell",
              2 * bytes_of(gates) + bytes_of(previous) + bytes_of(cells) + bytes_of(hidden));
}

void CostBackend::lstm_cell_backward(ConstTensor gates, ConstTensor previous, ConstTensor cells,
                                     ConstTensor dhidden, Tensor dcells, Tensor dgates) {
  add_traffic("lstm_cell_backward", bytes_of(gates) + bytes_of(previous) + bytes_of(cells) +
                                        bytes_of(dhidden) + 2 * bytes_of(dcells) +
                                        bytes_of(dgates));
}

}  // namespace trainbench
