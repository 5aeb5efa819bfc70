#pragma once

#include <string>

#include "cpu/providers/provider.h"

namespace trainbench {

/// CBLAS: float and double.
const MatmulProvider& blas_provider();
/// Of OpenBLAS: version, options and the kernels in use; "CBLAS" of another library.
std::string blas_version();

}  // namespace trainbench
