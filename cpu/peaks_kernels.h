#pragma once

#include <cstdint>
#include <vector>

namespace trainbench {

/// A loop that only computes, in registers.
struct PeakKernel {
  const char* precision;
  const char* instruction;  ///< what it consists of, for reports
  double flops_per_round;
  double roundoff;      ///< unit roundoff of its accumulators
  bool (*available)();  ///< false where the system withholds the instruction
  /// Runs `rounds` rounds on the calling thread. The result is the sum over all elements of all
  /// accumulators, so that no part of the work can be left out.
  double (*run)(std::int64_t rounds);
  /// What that sum is in exact arithmetic, after at least 1000 rounds.
  double (*expected)(std::int64_t rounds);
};

/// The kernels that this build has; several of one precision where several instructions serve it.
const std::vector<PeakKernel>& peak_kernels();

}  // namespace trainbench
