#include "common/core/dispatch.h"
#include "cpu/convert.h"
#include "cpu/cpu_backend.h"
#include "cpu/parallel.h"
#include "cpu/vector_math.h"

namespace trainbench {
namespace {

enum Gate { kInput, kForget, kCell, kOutput, kGates };

template <class W>
inline W logistic(W x) {
  return W{1} / (W{1} + vector_exp(-x));
}

/// tanh as 2 s(2x) - 1: near zero its error is u of 1, not of x.
template <class W>
inline W tanh_by_logistic(W x) {
  return 2 * logistic(2 * x) - 1;
}

/// The extents of one step.
struct CellShape {
  std::int64_t batch = 0;
  std::int64_t units = 0;

  static CellShape of(const ConstTensor& gates) {
    require(gates.shape.rank() == 2 && gates.shape[1] % kGates == 0, "gates are [b, 4h]");
    return {gates.shape[0], gates.shape[1] / kGates};
  }
};

/// Up to kBlock neighbouring units of a sample, in parallel: body(first gate's element, first
/// cell's element, count).
template <class Body>
void for_blocks(int threads, const CellShape& shape, const Body& body) {
  const std::int64_t blocks = (shape.units + kBlock - 1) / kBlock;
  // A unit costs a few transcendental functions: less work is worth a thread than in a copy.
  const std::int64_t grain = std::max<std::int64_t>(1, 1024 / std::min(shape.units, kBlock));
  parallel_ranges(threads, shape.batch * blocks, grain, [=](Range range) {
    for (std::int64_t i = range.first; i < range.last; ++i) {
      const std::int64_t row = i / blocks;
      const std::int64_t unit = i % blocks * kBlock;
      body(row * kGates * shape.units + unit, row * shape.units + unit,
           std::min(kBlock, shape.units - unit));
    }
  });
}

template <class T>
void cell_forward(int threads, const CellShape& shape, T* gates, const Wide<T>* previous,
                  Wide<T>* cells, T* hidden) {
  using W = Wide<T>;
  for_blocks(threads, shape, [=](std::int64_t gate, std::int64_t cell, std::int64_t count) {
    Elements<T> blocks[kGates], output;
    typename Elements<T>::Writer g[kGates];
    for (int k = 0; k < kGates; ++k) g[k] = blocks[k].load(gates + gate + k * shape.units, count);
    const W* before = previous == nullptr ? nullptr : previous + cell;
    W* now = cells + cell;
    const auto y = output.target(hidden + cell);
#pragma omp simd
    for (std::int64_t j = 0; j < count; ++j) {
      const W i = logistic<W>(g[kInput][j]);
      const W f = logistic<W>(g[kForget][j]);
      const W c = tanh_by_logistic<W>(g[kCell][j]);
      const W o = logistic<W>(g[kOutput][j]);
      const W sum = (before == nullptr ? W{0} : f * before[j]) + i * c;
      g[kInput][j] = i;
      g[kForget][j] = f;
      g[kCell][j] = c;
      g[kOutput][j] = o;
      now[j] = sum;
      y[j] = o * tanh_by_logistic(sum);
    }
    for (int k = 0; k < kGates; ++k) blocks[k].store(gates + gate + k * shape.units, count);
    output.store(hidden + cell, count);
  });
}

/// What one step's backward pass reads, and writes: dcells in place.
template <class T>
struct CellBackward {
  const T* gates;
  const Wide<T>* previous;  ///< null: zero
  const Wide<T>* cells;
  const T* dhidden;
  Wide<T>* dcells;
  T* dgates;
};

template <class T>
void cell_backward(int threads, const CellShape& shape, const CellBackward<T>& step) {
  using W = Wide<T>;
  for_blocks(threads, shape, [=](std::int64_t gate, std::int64_t cell, std::int64_t count) {
    Elements<T> blocks[kGates], slopes[kGates], above;
    typename Elements<T>::Reader g[kGates];
    typename Elements<T>::Writer d[kGates];
    for (int k = 0; k < kGates; ++k) {
      g[k] = blocks[k].read(step.gates + gate + k * shape.units, count);
      d[k] = slopes[k].target(step.dgates + gate + k * shape.units);
    }
    const auto dh = above.read(step.dhidden + cell, count);
    const W* before = step.previous == nullptr ? nullptr : step.previous + cell;
    const W* now = step.cells + cell;
    W* dc = step.dcells + cell;
#pragma omp simd
    for (std::int64_t j = 0; j < count; ++j) {
      const W i = g[kInput][j], f = g[kForget][j], c = g[kCell][j], o = g[kOutput][j];
      const W squashed = tanh_by_logistic(now[j]);
      const W slope = dc[j] + dh[j] * o * (1 - squashed * squashed);
      d[kInput][j] = slope * c * i * (1 - i);
      d[kForget][j] = before == nullptr ? W{0} : slope * before[j] * f * (1 - f);
      d[kCell][j] = slope * i * (1 - c * c);
      d[kOutput][j] = dh[j] * squashed * o * (1 - o);
      dc[j] = slope * f;
    }
    for (int k = 0; k < kGates; ++k) {
      slopes[k].store(step.dgates + gate + k * shape.units, count);
    }
  });
}

/// Step `index` of [t, ...], the other extents made one matrix of `columns`.
template <class View>
View step_of(const View& all, std::int64_t index, std::int64_t columns) {
  const std::int64_t elements = all.elements() / all.shape[0];
  return all.range(index * elements, elements).reshaped(Shape{elements / columns, columns});
}

}  // namespace

void CpuBackend::lstm_cell(Tensor gates, ConstTensor previous, Tensor cells, Tensor hidden) {
  const CellShape shape = CellShape::of(gates);
  dispatch_float(gates.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    cell_forward<T>(threads_, shape, gates.as<T>(), previous.absent() ? nullptr : previous.as<W>(),
                    cells.as<W>(), hidden.as<T>());
  });
}

void CpuBackend::lstm_cell_backward(ConstTensor gates, ConstTensor previous, ConstTensor cells,
                                    ConstTensor dhidden, Tensor dcells, Tensor dgates) {
  const CellShape shape = CellShape::of(gates);
  dispatch_float(gates.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    cell_backward<T>(threads_, shape,
                     {.gates = gates.as<T>(),
                      .previous = previous.absent() ? nullptr : previous.as<W>(),
                      .cells = cells.as<W>(),
                      .dhidden = dhidden.as<T>(),
                      .dcells = dcells.as<W>(),
                      .dgates = dgates.as<T>()});
  });
}

void CpuBackend::lstm(ConstTensor inputs, ConstTensor weights, const LstmTrace& trace,
                      MathMode math) {
  const std::int64_t units = weights.shape[1];
  const std::int64_t steps = inputs.shape[0];
  MatmulCall recurrent{.form = {.transpose_b = true, .accumulate = true, .math = math},
                       .a = step_of(trace.hidden, 0, units),
                       .b = weights,
                       .c = step_of(trace.gates, 0, kGates * units),
                       .repeated = true};
  if (steps > 1) recurrent.packed = router_.prepare(recurrent);
  for (std::int64_t t = 0; t < steps; ++t) {
    const Tensor gates = step_of(trace.gates, t, kGates * units);
    if (inputs.data != trace.gates.data) copy(step_of(inputs, t, kGates * units), gates);
    ConstTensor previous;
    if (t > 0) {
      recurrent.a = step_of(trace.hidden, t - 1, units);
      recurrent.c = gates;
      router_.run(recurrent);
      previous = step_of(trace.cells, t - 1, units);
    }
    lstm_cell(gates, previous, step_of(trace.cells, t, units), step_of(trace.hidden, t, units));
  }
}

void CpuBackend::lstm_backward(ConstTensor weights, const LstmTrace& trace, Tensor dhidden,
                               Tensor dgates, MathMode math) {
  const std::int64_t units = weights.shape[1];
  const std::int64_t steps = dhidden.shape[0];
  MatmulCall recurrent{.form = {.accumulate = true, .math = math},
                       .a = step_of(dgates, 0, kGates * units),
                       .b = weights,
                       .c = step_of(dhidden, 0, units),
                       .repeated = true};
  if (steps > 1) recurrent.packed = router_.prepare(recurrent);
  Tensor dcells = step_of(trace.cells, 0, units);
  dcells.data = arena_.scratch(Scratch::cells, dcells.bytes());
  fill_zero(dcells);
  for (std::int64_t t = steps - 1; t >= 0; --t) {
    const Tensor above = step_of(dhidden, t, units);
    if (t + 1 < steps) {
      recurrent.a = step_of(dgates, t + 1, kGates * units);
      recurrent.c = above;
      router_.run(recurrent);
    }
    lstm_cell_backward(step_of(trace.gates, t, kGates * units),
                       t > 0 ? ConstTensor(step_of(trace.cells, t - 1, units)) : ConstTensor(),
                       step_of(trace.cells, t, units), above, dcells,
                       step_of(dgates, t, kGates * units));
  }
}

}  // namespace trainbench
