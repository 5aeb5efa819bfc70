#pragma once

#include <string>

#include "cpu/providers/provider.h"

namespace trainbench {

/// Eigen's own kernels, threaded by OpenMP: float and double. In every build.
const MatmulProvider& eigen_provider();
/// "3.4.0, AVX512 ...": version and the instruction sets compiled in.
std::string eigen_version();

}  // namespace trainbench
