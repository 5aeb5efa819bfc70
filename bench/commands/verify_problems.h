#pragma once

#include "common/backend.h"

namespace trainbench {

/// Calls each operation of the contract on small random problems of odd shapes, in every form it
/// has: transposes, accumulation, epilogues, skipped updates. `via` computes; `memory` owns the
/// tensors.
void run_operations(Backend& via, Backend& memory, const Precision& precision);

}  // namespace trainbench
