#pragma once

#include <cuda_runtime_api.h>

#include "common/core/precision.h"

namespace trainbench::gpu {

/// A kernel that does nothing but a precision's multiply-add instruction, on registers.
struct PeakLoop {
  /// Enqueues `rounds` rounds in each of `blocks` blocks; `sink` is device memory for a double that
  /// keeps the compiler from leaving out the loop. Null: there is no such loop.
  void (*launch)(cudaStream_t stream, int blocks, int rounds, void* sink) = nullptr;
  double flops_per_round = 0;  ///< of a block
  int blocks_per_unit = 1;     ///< blocks that fill an SM
};

/// The loop that reaches the peak of a precision on devices of that compute capability (its major
/// number). Tensor-core peaks are reached through mma on 8.x and 12.x and through wgmma on 9.x. On
/// 10.x they need tcgen05, which this build does not have: there is no loop then, since a peak that
/// products exceed is none.
PeakLoop peak_loop(const Precision& precision, int major);
/// Of fp64, tf32, fp16 and bf16 on 9.0.
PeakLoop peak_loop_sm90a(const Precision& precision);

}  // namespace trainbench::gpu
