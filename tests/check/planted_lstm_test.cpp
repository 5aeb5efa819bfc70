// A wrong element in any result of the sequence operations fails the check of that result; right
// ones pass.

#include <gtest/gtest.h>

#include "common/check/check_backend.h"
#include "common/check/random_tensor.h"
#include "common/forwarding_backend.h"
#include "common/host_values.h"
#include "cpu/cpu_backend.h"

namespace trainbench {
namespace {

/// Which result gets a wrong element, as the check names it; "": none.
struct Target {
  std::string operation;
  std::string output;
};

class SpoilingBackend : public ForwardingBackend {
 public:
  SpoilingBackend(Backend& inner, Target target)
      : ForwardingBackend(inner), target_(std::move(target)) {}

  void shift_tokens(ConstTensor from, bool time_major, Tensor inputs, Tensor targets) override {
    inner_.shift_tokens(from, time_major, inputs, targets);
    maybe("shift_tokens", "inputs", inputs);
    maybe("shift_tokens", "targets", targets);
  }
  void lstm(ConstTensor inputs, ConstTensor weights, const LstmTrace& trace,
            MathMode math) override {
    inner_.lstm(inputs, weights, trace, math);
    maybe("lstm", "gates", trace.gates);
    maybe("lstm", "cells", trace.cells);
    maybe("lstm", "hidden", trace.hidden);
  }
  void lstm_backward(ConstTensor weights, const LstmTrace& trace, Tensor dhidden, Tensor dgates,
                     MathMode math) override {
    inner_.lstm_backward(weights, trace, dhidden, dgates, math);
    maybe("lstm_backward", "dhidden", dhidden);
    maybe("lstm_backward", "dgates", dgates);
  }
  void lstm_cell(Tensor gates, ConstTensor previous, Tensor cells, Tensor hidden) override {
    inner_.lstm_cell(gates, previous, cells, hidden);
    maybe("lstm_cell", "gates", gates);
    maybe("lstm_cell", "cells", cells);
    maybe("lstm_cell", "hidden", hidden);
  }
  void lstm_cell_backward(ConstTensor gates, ConstTensor previous, ConstTensor cells,
                          ConstTensor dhidden, Tensor dcells, Tensor dgates) override {
    inner_.lstm_cell_backward(gates, previous, cells, dhidden, dcells, dgates);
    maybe("lstm_cell_backward", "dcells", dcells);
    maybe("lstm_cell_backward", "dgates", dgates);
  }

 private:
  void maybe(const std::string& operation, const std::string& output, Tensor tensor) {
    if (operation != target_.operation || output != target_.output) return;
    std::vector<double> values = read_values(inner_, tensor);
    double& last = values.back();
    last += tensor.dtype == DType::i32 ? 1 : 0.1 * (1 + std::abs(last));
    write_values(inner_, tensor, values);
  }

  Target target_;
};

void run_all(Backend& via, Backend& memory, DType dtype) {
  constexpr std::int64_t kSteps = 3, kBatch = 4, kUnits = 9;
  const DType master = dtype == DType::f64 ? DType::f64 : DType::f32;
  std::uint64_t stream = 0;
  const auto random = [&](Shape shape, DType type, double low = -1, double high = 1) {
    return random_tensor(memory, shape, type, ++stream, low, high);
  };
  const auto fresh = [&](Shape shape, DType type) {
    return memory.allocate(shape, type, MemoryKind::workspace);
  };
  via.shift_tokens(random({kBatch, kSteps + 1}, DType::u8, 0, 128), true,
                   fresh({kSteps, kBatch}, DType::i32), fresh({kSteps, kBatch}, DType::i32));
  const Shape gates{kSteps, kBatch, 4 * kUnits}, cells{kSteps, kBatch, kUnits};
  const Tensor weights = random({4 * kUnits, kUnits}, dtype);
  const auto trace = [&] {
    return LstmTrace{
        .gates = fresh(gates, dtype), .cells = fresh(cells, master), .hidden = fresh(cells, dtype)};
  };
  via.lstm(random(gates, dtype), weights, trace(), MathMode::exact);
  const LstmTrace right = trace();
  memory.lstm(random(gates, dtype), weights, right, MathMode::exact);
  via.lstm_backward(weights, right, random(cells, dtype), fresh(gates, dtype), MathMode::exact);
  const Shape row{kBatch, kUnits};
  via.lstm_cell(random({kBatch, 4 * kUnits}, dtype), random(row, master), fresh(row, master),
                fresh(row, dtype));
  via.lstm_cell_backward(random({kBatch, 4 * kUnits}, dtype, 0, 1), random(row, master),
                         random(row, master), random(row, dtype), random(row, master),
                         fresh({kBatch, 4 * kUnits}, dtype));
}

/// Whether each checked result passed; `target` is spoilt.
void expect_failures(const Target& target) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    const std::unique_ptr<Backend> cpu = make_cpu_backend({.threads = 1});
    SpoilingBackend spoiling(*cpu, target);
    CheckBackend check(spoiling);
    run_all(check, *cpu, dtype);
    bool found = target.operation.empty();
    for (const OutputCheck& output : check.outputs()) {
      const std::string operation = output.operation.substr(0, output.operation.find(' '));
      const bool spoilt = operation == target.operation && output.output == target.output;
      found = found || spoilt;
      // What follows from a spoilt result may fail with it, but nothing of another operation.
      if (spoilt) {
        EXPECT_FALSE(output.passed()) << output.operation << " " << output.output;
      } else if (operation != target.operation) {
        EXPECT_TRUE(output.passed()) << output.describe();
      }
    }
    EXPECT_TRUE(found) << target.operation << " " << target.output;
  }
}

TEST(PlantedLstm, RightResultsPass) { expect_failures({}); }

TEST(PlantedLstm, AWrongElementFails) {
  const Target targets[] = {{"shift_tokens", "inputs"},
                            {"shift_tokens", "targets"},
                            {"lstm", "gates"},
                            {"lstm", "cells"},
                            {"lstm", "hidden"},
                            {"lstm_backward", "dhidden"},
                            {"lstm_backward", "dgates"},
                            {"lstm_cell", "gates"},
                            {"lstm_cell", "cells"},
                            {"lstm_cell", "hidden"},
                            {"lstm_cell_backward", "dcells"},
                            {"lstm_cell_backward", "dgates"}};
  for (const Target& target : targets) {
    SCOPED_TRACE(target.operation + " " + target.output);
    expect_failures(target);
  }
}

}  // namespace
}  // namespace trainbench
