#pragma once

#include "common/system/device_info.h"

namespace trainbench {

/// Measures what a device can do at most: register-only loops of the instruction each precision's
/// products are made of (fp32, fp64: FMA; tf32, fp16, bf16: mma with fp32 sums), the best matrix
/// product through cuBLASLt, and the bandwidth of a triad. A precision that the device lacks, or
/// whose fastest instruction this build does not have, is absent. Each measurement takes about
/// `seconds_each`; on a simulated device, where time means nothing, as little as possible.
Peaks measure_cuda_peaks(int device, double seconds_each);

}  // namespace trainbench
