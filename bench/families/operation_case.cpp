#include "bench/families/operation_case.h"

#include <algorithm>
#include <vector>

#include "common/core/philox.h"
#include "common/host_values.h"

namespace trainbench {
namespace {

/// Numbers that are made at a time.
constexpr std::int64_t kChunk = std::int64_t{1} << 18;

}  // namespace

OperationCase::OperationCase(const SuiteCase& wanted, RunEnvironment& environment)
    : precision_(precision_by_name(wanted.id.precision)),
      backend_(environment.devices.open(wanted.id.device,
                                        static_cast<int>(wanted.id.integer("threads", 0)),
                                        wanted.id.text("provider", "auto"))),
      seed_(environment.seed),
      timer_(*backend_, wanted.id.device == "gpu") {
  backend_->require_precision(precision_);
}

Tensor OperationCase::uniform(Shape shape, DType dtype) {
  const Tensor tensor = backend_->allocate(shape, dtype, MemoryKind::activations);
  const Philox random(seed_, operands_++);
  std::vector<double> values;
  for (std::int64_t first = 0; first < tensor.elements(); first += kChunk) {
    values.resize(static_cast<std::size_t>(std::min(kChunk, tensor.elements() - first)));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = random.uniform(static_cast<std::uint64_t>(first) + i, -1, 1);
    }
    write_values(*backend_, tensor.range(first, static_cast<std::int64_t>(values.size())), values);
  }
  return tensor;
}

Tensor OperationCase::result(Shape shape, DType dtype) {
  return backend_->allocate(shape, dtype, MemoryKind::activations);
}

void OperationCase::check(CaseResult& result) {
  check_work(*backend_, seed_, work_, result);
  count_work(work_, result);
  result.served = backend_->served();
}

Measurement OperationCase::run(std::int64_t iterations) {
  if (!recording_) {
    work_(*backend_);  // recorded work has run before; a case that is prepared anew is not checked
    recording_ = backend_->record([this] { work_(*backend_); });
  }
  return timer_.time(iterations, [this] { recording_->replay(); });
}

std::map<std::string, double> OperationCase::after_repetition() {
  if (recording_->launches() == 0) return {};
  return {{"launches_per_iteration", static_cast<double>(recording_->launches())}};
}

}  // namespace trainbench
