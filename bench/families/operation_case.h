#pragma once

#include <cstdint>
#include <memory>

#include "bench/families/checked_work.h"
#include "bench/harness/case.h"
#include "bench/harness/run_environment.h"
#include "bench/harness/timed.h"
#include "common/backend.h"

namespace trainbench {

/// A case whose iteration is operations of the contract: what those families share. One of them
/// allocates its operands here and says what an iteration enqueues.
class OperationCase : public PreparedCase {
 public:
  /// Opens the case's device, on its threads and by its provider where it names them. Throws
  /// Unsupported where that cannot compute in the case's precision.
  OperationCase(const SuiteCase& wanted, RunEnvironment& environment);

  /// A new operand, uniform in [-1, 1): the numbers follow from the run's seed and from how many
  /// operands there were before, so that they are the same on every device.
  Tensor uniform(Shape shape, DType dtype);
  Tensor uniform(Shape shape) { return uniform(shape, precision_.compute); }
  /// A new tensor for a result.
  Tensor result(Shape shape, DType dtype);
  Tensor result(Shape shape) { return result(shape, precision_.compute); }

  /// What an iteration is, on tensors of this case.
  void set_work(Work work) { work_ = std::move(work); }

  Backend& backend() { return *backend_; }
  const Precision& precision() const { return precision_; }

  void check(CaseResult& result) override;
  Measurement run(std::int64_t iterations) override;
  std::map<std::string, double> after_repetition() override;
  MemoryUse memory() const override { return backend_->memory(); }

 private:
  const Precision& precision_;
  std::unique_ptr<Backend> backend_;
  std::uint64_t seed_;
  std::uint64_t operands_ = 0;  // made so far
  WorkTimer timer_;
  Work work_;
  std::unique_ptr<Recording> recording_;
};

}  // namespace trainbench
