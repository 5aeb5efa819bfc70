#pragma once

#include <string>
#include <vector>

#include "common/cost/cost_backend.h"
#include "common/cost/efficiencies.h"

namespace trainbench {

/// What a device sustains: the two roofs and the time every operation costs besides.
struct Roofs {
  double product_flops = 0;      ///< FLOP/s of products
  double convolution_flops = 0;  ///< FLOP/s of convolutions
  double bandwidth = 0;          ///< bytes/s
  double operation_seconds = 0;
};

/// A device's rated peaks times what its architecture reaches of them. Throws Unsupported where it
/// has no rate for the precision.
Roofs roofs_of(const DeviceSpec& device, const Efficiencies& efficiencies,
               const Precision& precision);

/// An estimate, by what its time goes to.
struct Estimate {
  double seconds = 0;
  double compute = 0;    ///< of operations whose FLOPs take longer than their bytes
  double bandwidth = 0;  ///< of the others
  double overhead = 0;   ///< of all, beside their work
};

/// Williams, Waterman and Patterson (CACM 52, 2009), operation by operation: the longer of FLOPs by
/// their roof and bytes by theirs, and a fixed time for each call. Operations follow one another.
/// Calls of one name are taken together: all have the same shape where FLOPs decide.
Estimate roofline(const std::vector<OperationCost>& operations, const Roofs& roofs);

}  // namespace trainbench
