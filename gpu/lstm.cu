#include "gpu/cuda_backend_impl.h"
#include "gpu/vector.cuh"

namespace trainbench::gpu {
namespace {

enum Gate { kInput, kForget, kCell, kOutput, kGates };

/// A step has few elements; small blocks bring them to all SMs.
constexpr int kCellBlock = 64;

template <class Acc>
__device__ Acc logistic(Acc x) {
  return Acc{1} / (Acc{1} + exp(-x));
}

/// One step's tensors, [batch, 4 units] and [batch, units]; a null pointer stands for zeros.
template <class T>
struct CellForward {
  T* gates;
  const Accumulator<T>* previous;
  Accumulator<T>* cells;
  T* hidden;
};
template <class T>
struct CellBackward {
  const T* gates;
  const Accumulator<T>* previous;
  const Accumulator<T>* cells;
  const T* dhidden;
  const Accumulator<T>* dcells;     ///< of these cells, from the step after
  Accumulator<T>* dcells_previous;  ///< may be dcells
  T* dgates;
};

struct CellShape {
  std::int64_t batch;
  std::int64_t units;

  static CellShape of(const ConstTensor& gates) {
    require(gates.shape.rank() == 2 && gates.shape[1] % kGates == 0, "gates are [b, 4h]");
    return {gates.shape[0], gates.shape[1] / kGates};
  }
};

/// Calls f(first gate's element, cell's element) for all packs of N neighbouring units.
template <int N, class F>
__device__ void for_cells(const CellShape& shape, F f) {
  const std::int64_t packs = shape.units / N;
  for_packs<1>(shape.batch * packs, [=](auto, std::int64_t i) {
    const std::int64_t row = i / packs;
    const std::int64_t unit = i % packs * N;
    f(row * kGates * shape.units + unit, row * shape.units + unit);
  });
}

template <int N, class T>
__global__ void __launch_bounds__(kCellBlock)
    lstm_cell_kernel(CellForward<T> step, CellShape shape) {
  using Acc = Accumulator<T>;
  for_cells<N>(shape, [=](std::int64_t gate, std::int64_t cell) {
    Pack<T, N> gates[kGates];
#pragma unroll
    for (int k = 0; k < kGates; ++k) {
      gates[k] = Pack<T, N>::load(step.gates + gate + k * shape.units);
    }
    Pack<Acc, N> cells{};
    if (step.previous != nullptr) cells = Pack<Acc, N>::load(step.previous + cell);
    Pack<T, N> hidden;
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const Acc i = logistic(convert<Acc>(gates[kInput].lane[j]));
      const Acc f = logistic(convert<Acc>(gates[kForget].lane[j]));
      const Acc c = tanh(convert<Acc>(gates[kCell].lane[j]));
      const Acc o = logistic(convert<Acc>(gates[kOutput].lane[j]));
      cells.lane[j] = f * cells.lane[j] + i * c;
      gates[kInput].lane[j] = convert<T>(i);
      gates[kForget].lane[j] = convert<T>(f);
      gates[kCell].lane[j] = convert<T>(c);
      gates[kOutput].lane[j] = convert<T>(o);
      hidden.lane[j] = convert<T>(o * tanh(cells.lane[j]));
    }
#pragma unroll
    for (int k = 0; k < kGates; ++k) gates[k].store(step.gates + gate + k * shape.units);
    cells.store(step.cells + cell);
    hidden.store(step.hidden + cell);
  });
}

template <int N, class T>
__global__ void __launch_bounds__(kCellBlock)
    lstm_cell_backward_kernel(CellBackward<T> step, CellShape shape) {
  using Acc = Accumulator<T>;
  for_cells<N>(shape, [=](std::int64_t gate, std::int64_t cell) {
    Pack<T, N> gates[kGates];
#pragma unroll
    for (int k = 0; k < kGates; ++k) {
      gates[k] = Pack<T, N>::load(step.gates + gate + k * shape.units);
    }
    const auto now = Pack<Acc, N>::load(step.cells + cell);
    const auto above = Pack<T, N>::load(step.dhidden + cell);
    Pack<Acc, N> before{}, dcells{};
    if (step.previous != nullptr) before = Pack<Acc, N>::load(step.previous + cell);
    if (step.dcells != nullptr) dcells = Pack<Acc, N>::load(step.dcells + cell);
#pragma unroll
    for (int j = 0; j < N; ++j) {
      const Acc i = convert<Acc>(gates[kInput].lane[j]);
      const Acc f = convert<Acc>(gates[kForget].lane[j]);
      const Acc c = convert<Acc>(gates[kCell].lane[j]);
      const Acc o = convert<Acc>(gates[kOutput].lane[j]);
      const Acc dh = convert<Acc>(above.lane[j]);
      const Acc squashed = tanh(now.lane[j]);
      const Acc slope = dcells.lane[j] + dh * o * (1 - squashed * squashed);
      gates[kInput].lane[j] = convert<T>(slope * c * i * (1 - i));
      gates[kForget].lane[j] = convert<T>(slope * before.lane[j] * f * (1 - f));
      gates[kCell].lane[j] = convert<T>(slope * i * (1 - c * c));
      gates[kOutput].lane[j] = convert<T>(dh * squashed * o * (1 - o));
      dcells.lane[j] = slope * f;
    }
#pragma unroll
    for (int k = 0; k < kGates; ++k) gates[k].store(step.dgates + gate + k * shape.units);
    dcells.store(step.dcells_previous + cell);
  });
}

/// Calls `f` with how many units a thread takes. In double one: the calls that exp and tanh become
/// would have it store the others' values on a stack.
template <class T, class F>
void dispatch_cells(bool vector, F&& f) {
  if constexpr (std::is_same_v<T, double>) {
    f(Width<1>{});
  } else {
    dispatch_width(vector, f);
  }
}

template <class T>
void launch_cell(const Queue& queue, const CellShape& shape, const CellForward<T>& step) {
  const bool vector =
      shape.units % 4 == 0 && aligned(step.gates, step.previous, step.cells, step.hidden);
  dispatch_cells<T>(vector, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    lstm_cell_kernel<kWidth><<<grid_size(queue, shape.batch * shape.units / kWidth, kCellBlock),
                               kCellBlock, 0, queue.stream>>>(step, shape);
  });
  TRAINBENCH_LAUNCHED();
}

template <class T>
void launch_cell(const Queue& queue, const CellShape& shape, const CellBackward<T>& step) {
  const bool vector =
      shape.units % 4 == 0 && aligned(step.gates, step.previous, step.cells, step.dhidden,
                                      step.dcells, step.dcells_previous, step.dgates);
  dispatch_cells<T>(vector, [&](auto width) {
    constexpr int kWidth = decltype(width)::value;
    lstm_cell_backward_kernel<kWidth>
        <<<grid_size(queue, shape.batch * shape.units / kWidth, kCellBlock), kCellBlock, 0,
           queue.stream>>>(step, shape);
  });
  TRAINBENCH_LAUNCHED();
}

/// Step `index` of [t, ...], the other extents made one matrix of `columns`.
template <class View>
View step_of(const View& all, std::int64_t index, std::int64_t columns) {
  const std::int64_t elements = all.elements() / all.shape[0];
  return all.range(index * elements, elements).reshaped(Shape{elements / columns, columns});
}

/// The step before step `index`; absent before the first.
ConstTensor step_before(const ConstTensor& all, std::int64_t index, std::int64_t columns) {
  return index == 0 ? ConstTensor() : step_of(all, index - 1, columns);
}

/// One step's backward pass as tensors; `dcells` is absent after the last step.
struct BackwardStep {
  ConstTensor gates, previous, cells, dhidden, dcells;
  Tensor dcells_previous, dgates;
};

void cell_backward(const Queue& queue, const BackwardStep& step) {
  dispatch_float(step.gates.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    using Acc = Accumulator<T>;
    launch_cell(queue, CellShape::of(step.gates),
                CellBackward<T>{.gates = elements_of<T>(step.gates),
                                .previous = elements_of<Acc>(step.previous),
                                .cells = elements_of<Acc>(step.cells),
                                .dhidden = elements_of<T>(step.dhidden),
                                .dcells = elements_of<Acc>(step.dcells),
                                .dcells_previous = elements_of<Acc>(step.dcells_previous),
                                .dgates = elements_of<T>(step.dgates)});
  });
}

void cell_forward(const Queue& queue, Tensor gates, ConstTensor previous, Tensor cells,
                  Tensor hidden) {
  dispatch_float(gates.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    using Acc = Accumulator<T>;
    launch_cell(queue, CellShape::of(gates),
                CellForward<T>{.gates = elements_of<T>(gates),
                               .previous = elements_of<Acc>(previous),
                               .cells = elements_of<Acc>(cells),
                               .hidden = elements_of<T>(hidden)});
  });
}

}  // namespace

void CudaBackend::lstm_cell(Tensor gates, ConstTensor previous, Tensor cells, Tensor hidden) {
  cell_forward(own("lstm_cell", gates.dtype), gates, previous, cells, hidden);
}

void CudaBackend::lstm_cell_backward(ConstTensor gates, ConstTensor previous, ConstTensor cells,
                                     ConstTensor dhidden, Tensor dcells, Tensor dgates) {
  cell_backward(own("lstm_cell_backward", gates.dtype), {.gates = gates,
                                                         .previous = previous,
                                                         .cells = cells,
                                                         .dhidden = dhidden,
                                                         .dcells = dcells,
                                                         .dcells_previous = dcells,
                                                         .dgates = dgates});
}

void CudaBackend::lstm(ConstTensor inputs, ConstTensor weights, const LstmTrace& trace,
                       MathMode math) {
  const std::int64_t units = weights.shape[1];
  const std::int64_t steps = inputs.shape[0];
  const Queue& queue = own("lstm", weights.dtype);
  if (inputs.data != trace.gates.data) copy(inputs, trace.gates);
  const MatmulForm form{.transpose_b = true, .accumulate = true, .math = math};
  for (std::int64_t t = 0; t < steps; ++t) {
    const Tensor gates = step_of(trace.gates, t, kGates * units);
    if (t > 0) matmul(form, step_of(trace.hidden, t - 1, units), weights, gates, {});
    cell_forward(queue, gates, step_before(trace.cells, t, units), step_of(trace.cells, t, units),
                 step_of(trace.hidden, t, units));
  }
}

void CudaBackend::lstm_backward(ConstTensor weights, const LstmTrace& trace, Tensor dhidden,
                                Tensor dgates, MathMode math) {
  const std::int64_t units = weights.shape[1];
  const std::int64_t steps = dhidden.shape[0];
  const Queue& queue = own("lstm_backward", weights.dtype);
  const std::int64_t cells = dhidden.shape[1] * units;
  // The products between the steps use the scratch memory.
  if (cell_gradients_.absent() || cell_gradients_.dtype != trace.cells.dtype ||
      cell_gradients_.elements() < cells) {
    cell_gradients_ = allocate(Shape{cells}, trace.cells.dtype, MemoryKind::workspace);
  }
  const Tensor dcells = cell_gradients_.range(0, cells);
  const MatmulForm form{.accumulate = true, .math = math};
  for (std::int64_t t = steps - 1; t >= 0; --t) {
    const Tensor above = step_of(dhidden, t, units);
    const bool last = t + 1 == steps;
    if (!last) matmul(form, step_of(dgates, t + 1, kGates * units), weights, above, {});
    cell_backward(queue, {.gates = step_of(trace.gates, t, kGates * units),
                          .previous = step_before(trace.cells, t, units),
                          .cells = step_of(trace.cells, t, units),
                          .dhidden = above,
                          .dcells = last ? ConstTensor() : dcells,
                          .dcells_previous = dcells,
                          .dgates = step_of(dgates, t, kGates * units)});
  }
}

}  // namespace trainbench::gpu
