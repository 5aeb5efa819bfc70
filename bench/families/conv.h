#pragma once

#include <memory>

#include "bench/harness/case.h"
#include "bench/harness/run_environment.h"

namespace trainbench {

/// The family `conv`: one pass of a convolution of square images: forward, data_gradient or
/// weight_gradient, without bias, as the layers of a ResNet are. Weight gradients come in the
/// master dtype.
std::unique_ptr<PreparedCase> prepare_conv(const SuiteCase& wanted, RunEnvironment& environment);

}  // namespace trainbench
