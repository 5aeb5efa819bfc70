// CheckBackend's token windows and LSTM. Each result is recomputed from those that the device
// itself got before it: a step's gates from its own output of the step before.

#include <cmath>

#include "common/check/check_backend.h"
#include "common/check/reference.h"

namespace trainbench {
namespace {

constexpr std::int64_t kGates = 4;

/// Roundings of a logistic function or tanh, of numbers up to 1, by an exponential of at most four
/// units roundoff and a division; 16-bit values may use one of 11 bits, as GELU's.
double nonlinearity_error(DType dtype) { return 10 * gelu_roundoff(dtype); }

Expected with_rounding(DType dtype, Expected exact) {
  exact.bound += rounding_error(dtype, exact.value);
  return exact;
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// A gate from its argument: slopes are at most 1/4 of the logistic function, 1 of tanh.
Expected nonlinearity(std::int64_t gate, const Expected& argument, DType dtype) {
  const bool tanh = gate == 2;
  return {tanh ? std::tanh(argument.value) : logistic(argument.value),
          (tanh ? 1 : 0.25) * argument.bound + nonlinearity_error(dtype)};
}

/// Products and sums of uncertain numbers, rounded in `u`.
struct Arithmetic {
  double u;

  Expected times(const Expected& a, const Expected& b) const {
    const double value = a.value * b.value;
    return {value, std::abs(a.value) * b.bound + std::abs(b.value) * a.bound + a.bound * b.bound +
                       u * std::abs(value)};
  }
  Expected plus(const Expected& a, const Expected& b) const {
    const double value = a.value + b.value;
    return {value, a.bound + b.bound + u * std::abs(value)};
  }
  /// 1 - a.
  Expected complement(const Expected& a) const { return {1 - a.value, a.bound + u}; }
};

/// Where the element (step, row, unit) of [t, b, h] and its gates lie.
struct Place {
  std::int64_t step;
  std::int64_t row;
  std::int64_t unit;
};

/// A trace as the device has it. Gates are known to their storage's rounding: the cells may have
/// been made of what was not rounded yet.
struct HeldTrace {
  const HostTensor& gates;
  const HostTensor& cells;
  std::int64_t batch;
  std::int64_t units;

  DType dtype() const { return gates.dtype(); }
  Arithmetic arithmetic() const { return {working_roundoff(cells.dtype())}; }

  std::int64_t cell_index(const Place& p) const {
    return (p.step * batch + p.row) * units + p.unit;
  }
  std::int64_t gate_index(const Place& p, std::int64_t gate) const {
    return ((p.step * batch + p.row) * kGates + gate) * units + p.unit;
  }
  Place place(std::int64_t cell) const {
    return {cell / (batch * units), cell / units % batch, cell % units};
  }
  Expected gate(const Place& p, std::int64_t which) const {
    return with_rounding(dtype(), {gates[gate_index(p, which)], 0});
  }
  Expected tanh_of_cell(const Place& p) const {
    return {std::tanh(cells[cell_index(p)]), nonlinearity_error(cells.dtype())};
  }

  Expected cell(const Place& p, const Expected& previous) const {
    const Arithmetic a = arithmetic();
    return a.plus(a.times(gate(p, 1), previous), a.times(gate(p, 0), gate(p, 2)));
  }
  Expected hidden(const Place& p) const {
    return with_rounding(dtype(), arithmetic().times(gate(p, 3), tanh_of_cell(p)));
  }

  /// The gradient by the cell, from that by the next step's and by the output.
  Expected dcell(const Place& p, const Expected& from_above, const Expected& dhidden) const {
    const Arithmetic a = arithmetic();
    const Expected squashed = tanh_of_cell(p);
    return a.plus(from_above,
                  a.times(a.times(dhidden, gate(p, 3)), a.complement(a.times(squashed, squashed))));
  }
  /// The gradient by a gate's argument.
  Expected dgate(const Place& p, std::int64_t which, const Expected& dcell, const Expected& dhidden,
                 const Expected& previous) const {
    const Arithmetic a = arithmetic();
    const Expected own = gate(p, which);
    const Expected slope =
        which == 2 ? a.complement(a.times(own, own)) : a.times(own, a.complement(own));
    const Expected factors[kGates] = {a.times(dcell, gate(p, 2)), a.times(dcell, previous),
                                      a.times(dcell, gate(p, 0)),
                                      a.times(dhidden, tanh_of_cell(p))};
    return with_rounding(dtype(), a.times(factors[which], slope));
  }
};

std::string named(const char* operation, DType dtype) {
  return std::string(operation) + " " + std::string(name_of(dtype));
}

}  // namespace

void CheckBackend::shift_tokens(ConstTensor from, bool time_major, Tensor inputs, Tensor targets) {
  const Held windows = hold(from);
  inner_.shift_tokens(from, time_major, inputs, targets);
  const std::int64_t batch = from.shape[0];
  const std::int64_t steps = from.shape[1] - 1;
  const auto token = [&](std::int64_t i, std::int64_t shift) {
    const std::int64_t row = time_major ? i % batch : i / steps;
    const std::int64_t step = time_major ? i / batch : i % steps;
    return Expected{(*windows)[row * (steps + 1) + step + shift], 0};
  };
  compare("shift_tokens", "inputs", inputs, [&](std::int64_t i) { return token(i, 0); });
  compare("shift_tokens", "targets", targets, [&](std::int64_t i) { return token(i, 1); });
}

void CheckBackend::lstm(ConstTensor inputs, ConstTensor weights, const LstmTrace& trace,
                        MathMode math) {
  const Held given = hold(inputs);
  const Held matrix = hold(weights);
  inner_.lstm(inputs, weights, trace, math);
  const std::int64_t batch = inputs.shape[1];
  const std::int64_t units = weights.shape[1];
  const Held gates = hold(trace.gates);
  const Held cells = hold(trace.cells);
  const Held outputs = hold(trace.hidden);
  const HeldTrace held{*gates, *cells, batch, units};
  const DType dtype = weights.dtype;
  const std::string operation = named("lstm", dtype);
  compare(operation, "gates", trace.gates, [&](std::int64_t i) {
    const std::int64_t row = i / (kGates * units);  // of [t b, 4h]
    const std::int64_t column = i % (kGates * units);
    Sum terms;
    if (row >= batch) {
      terms = dot({*outputs, (row - batch) * units, 1}, {*matrix, column * units, 1}, units);
    }
    terms.add((*given)[i]);
    // The argument may have been stored before its nonlinearity.
    const Expected argument =
        with_rounding(dtype, {terms.value, product_error(units + 1, dtype, math, terms.magnitude)});
    return with_rounding(dtype, nonlinearity(column / units, argument, dtype));
  });
  compare(operation, "cells", trace.cells, [&](std::int64_t i) {
    const double previous = i >= batch * units ? (*cells)[i - batch * units] : 0;
    return held.cell(held.place(i), {previous, 0});
  });
  compare(operation, "hidden", trace.hidden,
          [&](std::int64_t i) { return held.hidden(held.place(i)); });
}

void CheckBackend::lstm_backward(ConstTensor weights, const LstmTrace& trace, Tensor dhidden,
                                 Tensor dgates, MathMode math) {
  const Held matrix = hold(weights);
  const Held gates = hold(trace.gates);
  const Held cells = hold(trace.cells);
  const Held before = hold(dhidden);
  inner_.lstm_backward(weights, trace, dhidden, dgates, math);
  const std::int64_t steps = dhidden.shape[0];
  const std::int64_t batch = dhidden.shape[1];
  const std::int64_t units = dhidden.shape[2];
  const HeldTrace held{*gates, *cells, batch, units};
  const Held above = hold(dhidden);
  const Held slopes = hold(dgates);
  const DType dtype = weights.dtype;
  const std::string operation = named("lstm_backward", dtype);
  compare(operation, "dhidden", dhidden, [&](std::int64_t i) {
    const std::int64_t row = i / units;
    Sum terms;
    if (row < (steps - 1) * batch) {
      terms = dot({*slopes, (row + batch) * kGates * units, 1}, {*matrix, i % units, units},
                  kGates * units);
    }
    terms.add((*before)[i]);
    return with_rounding(
        dtype, {terms.value, product_error(kGates * units + 1, dtype, math, terms.magnitude)});
  });
  compare(operation, "dgates", dgates, [&](std::int64_t i) {
    const std::int64_t which = i / units % kGates;
    const Place target{i / (kGates * units) / batch, i / (kGates * units) % batch, i % units};
    const auto output_slope = [&](const Place& p) {
      // What the device went on with may not have been rounded yet.
      return with_rounding(dtype, {(*above)[held.cell_index(p)], 0});
    };
    Expected dcell{0, 0};
    for (Place p{steps - 1, target.row, target.unit}; p.step > target.step; --p.step) {
      dcell = held.arithmetic().times(held.dcell(p, dcell, output_slope(p)), held.gate(p, 1));
    }
    dcell = held.dcell(target, dcell, output_slope(target));
    Place earlier = target;
    --earlier.step;
    const double previous = earlier.step >= 0 ? (*cells)[held.cell_index(earlier)] : 0;
    return held.dgate(target, which, dcell, output_slope(target), {previous, 0});
  });
}

void CheckBackend::lstm_cell(Tensor gates, ConstTensor previous, Tensor cells, Tensor hidden) {
  const Held arguments = hold(gates);
  const Held before = hold(previous);
  inner_.lstm_cell(gates, previous, cells, hidden);
  const std::int64_t units = hidden.shape[1];
  const Held after = hold(gates);
  const Held now = hold(cells);
  const HeldTrace held{*after, *now, hidden.shape[0], units};
  const std::string operation = named("lstm_cell", gates.dtype);
  compare(operation, "gates", gates, [&](std::int64_t i) {
    return with_rounding(gates.dtype,
                         nonlinearity(i / units % kGates, {(*arguments)[i], 0}, gates.dtype));
  });
  compare(operation, "cells", cells, [&](std::int64_t i) {
    return held.cell(held.place(i), {before->absent() ? 0 : (*before)[i], 0});
  });
  compare(operation, "hidden", hidden, [&](std::int64_t i) { return held.hidden(held.place(i)); });
}

void CheckBackend::lstm_cell_backward(ConstTensor gates, ConstTensor previous, ConstTensor cells,
                                      ConstTensor dhidden, Tensor dcells, Tensor dgates) {
  const Held forward = hold(gates);
  const Held before = hold(previous);
  const Held now = hold(cells);
  const Held above = hold(dhidden);
  const Held given = hold(dcells);
  inner_.lstm_cell_backward(gates, previous, cells, dhidden, dcells, dgates);
  const std::int64_t units = dhidden.shape[1];
  const HeldTrace held{*forward, *now, dhidden.shape[0], units};
  const auto dcell = [&](std::int64_t cell) {
    return held.dcell(held.place(cell), {(*given)[cell], 0}, {(*above)[cell], 0});
  };
  const std::string operation = named("lstm_cell_backward", gates.dtype);
  compare(operation, "dgates", dgates, [&](std::int64_t i) {
    const std::int64_t cell = i / (kGates * units) * units + i % units;
    return held.dgate(held.place(cell), i / units % kGates, dcell(cell), {(*above)[cell], 0},
                      {before->absent() ? 0 : (*before)[cell], 0});
  });
  compare(operation, "dcells", dcells, [&](std::int64_t i) {
    return held.arithmetic().times(dcell(i), held.gate(held.place(i), 1));
  });
}

}  // namespace trainbench
