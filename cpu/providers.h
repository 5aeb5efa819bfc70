#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cpu/providers/provider.h"

namespace trainbench {

/// The libraries of this build that multiply matrices, in the order in which "auto" prefers equals.
const std::vector<const MatmulProvider*>& matmul_providers();

/// Those that a provider option means: the named one, or all for "auto". Throws InputError for a
/// name that is unknown or not in this build.
std::vector<const MatmulProvider*> matmul_providers_for(const std::string& option);

/// For reports: each library with its version and, where it tells, the kernels it chose.
std::vector<std::pair<std::string, std::string>> cpu_providers();

}  // namespace trainbench
