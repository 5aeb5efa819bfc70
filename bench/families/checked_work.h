#pragma once

#include <cstdint>
#include <functional>

#include "common/backend.h"
#include "common/report/result.h"

namespace trainbench {

/// Enqueues an iteration on the backend that it is given, which may be one that checks or counts:
/// always the same operations on the same tensors.
using Work = std::function<void(Backend&)>;

/// Runs `work` once through a CheckBackend; fills the error counters of `result`. Throws
/// DeviceError where an element lies outside its bound.
void check_work(Backend& backend, std::uint64_t seed, const Work& work, CaseResult& result);

/// Fills what `work` costs: FLOPs, bytes and operations an iteration.
void count_work(const Work& work, CaseResult& result);

}  // namespace trainbench
