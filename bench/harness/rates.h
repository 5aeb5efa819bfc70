#pragma once

#include <functional>

#include "common/report/result.h"
#include "common/system/device_info.h"

namespace trainbench {

/// Adds to each sample what follows from its wall time and the case's counters:
/// samples_per_second, tokens_per_second of sequences, flops_per_second, bytes_per_second and their
/// fractions of the measured peaks; and on the CPU harness_fraction, what the harness adds to the
/// steps it times. A row above a measured peak is marked in `details`, and true is returned: either
/// the count or the peak is wrong.
bool add_rates(CaseResult& result, const Peaks& peaks);

/// The larger of each: whatever disturbs a measurement only makes a peak smaller.
Peaks larger(const Peaks& a, const Peaks& b);

/// A row above its peak says that something disturbed the peak's measurement: `measure` takes it
/// again, twice at most, and `peaks` keeps the larger of each. What is above it even then stays
/// marked.
void settle_peaks(CaseResult& result, Peaks& peaks, const std::function<Peaks()>& measure);

}  // namespace trainbench
