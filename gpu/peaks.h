#pragma once

#include "common/system/device_info.h"

namespace trainbench {

/// Measures what a device can do at most: register-only loops of the instruction each precision's
/// products are made of (FMA for fp32; the tensor cores' multiply-add, with fp32 sums, for tf32,
/// fp16 and bf16, and with fp64 sums for fp64 where they have it), the best matrix product through
/// cuBLASLt, and the bandwidth of a triad. A precision that the device lacks, or whose fastest
/// instruction this build does not have, is absent. Each measurement takes about `seconds_each`; on
/// a simulated device, where time means nothing, as little as possible.
Peaks measure_cuda_peaks(int device, double seconds_each);

}  // namespace trainbench
