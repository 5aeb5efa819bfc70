#pragma once

#include <cstdint>
#include <vector>

#include "common/cost/cost_backend.h"
#include "common/models/workload.h"

namespace trainbench {

/// What a training step asks for: a workload, how large, in what.
struct StepProblem {
  const Workload* workload = nullptr;
  ModelSizes sizes;        ///< that differ from the workload's own
  std::int64_t batch = 0;  ///< 0: the workload's default
  Precision precision = kFp32;
};

/// What such a step costs on any device, and the memory it holds, counted without data.
struct StepCost {
  std::int64_t batch = 0;
  std::int64_t tokens = 0;      ///< of the batch; 0 for images
  std::int64_t parameters = 0;  ///< of the model
  std::vector<OperationCost> operations;
  Cost total;
  MemoryUse memory;
};

/// Counts one step. `saved` is what the device leaves of an activation. Throws InputError for sizes
/// the model does not have.
StepCost count_step(const StepProblem& problem, const SavedLayout& saved = {});

}  // namespace trainbench
