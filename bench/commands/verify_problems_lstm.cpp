#include "bench/commands/verify_problems.h"
#include "common/check/random_tensor.h"

namespace trainbench {
namespace {

struct Extents {
  std::int64_t steps, batch, units;
};

/// One element, and sizes that no vector, tile or warp divides.
constexpr Extents kSequences[] = {{1, 1, 1}, {3, 5, 17}, {4, 3, 130}};

/// Fresh tensors for one problem after the other, of a precision's types.
class Problems {
 public:
  Problems(Backend& via, Backend& memory, const Precision& precision)
      : via_(via), memory_(memory), precision_(precision) {}

  void run() {
    for (const Extents& extents : kSequences) {
      shift_tokens(extents);
      lstm(extents);
      lstm_cells(extents);
    }
  }

 private:
  Tensor random(Shape shape, DType dtype, double low = -1, double high = 1) {
    return random_tensor(memory_, shape, dtype, ++stream_, low, high);
  }
  Tensor random(Shape shape) { return random(shape, precision_.compute); }
  Tensor fresh(Shape shape, DType dtype) {
    return memory_.allocate(shape, dtype, MemoryKind::workspace);
  }

  void shift_tokens(const Extents& e) {
    for (const DType dtype : {DType::u8, DType::i32}) {
      for (const bool time_major : {false, true}) {
        const Shape shape = time_major ? Shape{e.steps, e.batch} : Shape{e.batch, e.steps};
        via_.shift_tokens(random({e.batch, e.steps + 1}, dtype, 0, 128), time_major,
                          fresh(shape, DType::i32), fresh(shape, DType::i32));
      }
    }
  }

  /// Forward, also in place, and backward through what that left.
  void lstm(const Extents& e) {
    const Shape gates{e.steps, e.batch, 4 * e.units};
    const Shape cells{e.steps, e.batch, e.units};
    const Tensor weights = random({4 * e.units, e.units});
    for (const bool in_place : {false, true}) {
      const Tensor inputs = random(gates, precision_.compute, -2, 2);
      const LstmTrace trace{.gates = in_place ? inputs : fresh(gates, precision_.compute),
                            .cells = fresh(cells, precision_.master),
                            .hidden = fresh(cells, precision_.compute)};
      via_.lstm(inputs, weights, trace, precision_.math);
      via_.lstm_backward(weights, trace, random(cells), fresh(gates, precision_.compute),
                         precision_.math);
    }
  }

  void lstm_cells(const Extents& e) {
    const Shape shape{e.batch, e.units};
    for (const bool first : {true, false}) {
      const Tensor gates = random({e.batch, 4 * e.units}, precision_.compute, -4, 4);
      const Tensor previous = first ? Tensor{} : random(shape, precision_.master);
      const Tensor cells = fresh(shape, precision_.master);
      via_.lstm_cell(gates, previous, cells, fresh(shape, precision_.compute));
      via_.lstm_cell_backward(gates, previous, cells, random(shape),
                              random(shape, precision_.master),
                              fresh({e.batch, 4 * e.units}, precision_.compute));
    }
  }

  Backend& via_;
  Backend& memory_;
  const Precision& precision_;
  std::uint64_t stream_ = 0;
};

}  // namespace

void run_lstm_operations(Backend& via, Backend& memory, const Precision& precision) {
  memory.require_precision(precision);
  Problems(via, memory, precision).run();
}

}  // namespace trainbench
