#pragma once

#include <vector>

#include "common/backend.h"

namespace trainbench {

/// A tensor's elements as doubles on the host; exact for every dtype. Waits for the device.
std::vector<double> read_values(Backend& backend, ConstTensor tensor);

/// Sets a tensor to `values`, rounded to its dtype.
void write_values(Backend& backend, Tensor tensor, const std::vector<double>& values);

/// What `value` becomes when it is stored as `dtype`.
double rounded_to(DType dtype, double value);

}  // namespace trainbench
