#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cpu/providers/convolution.h"
#include "cpu/providers/provider.h"

namespace trainbench {

/// The libraries that a provider option means: the named one, or for "auto" all of this build, the
/// one that is usually the fastest first; or one of the plain loops, "naive" and "openmp", which
/// are there to be compared with. Throws InputError for a name that is unknown or not in this
/// build.
std::vector<const MatmulProvider*> matmul_providers_for(const std::string& option);

/// Those of them that convolve, which may be none.
std::vector<const ConvolutionProvider*> convolution_providers_for(const std::string& option);

/// For reports: each library's name, and its version with the kernels that it uses on this CPU.
std::vector<std::pair<std::string, std::string>> cpu_providers();

}  // namespace trainbench
