#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "common/nn/profile_backend.h"

namespace trainbench {

/// The mean step of a profile of `steps`, as a row's details hold it: of each operation its phase,
/// calls, seconds, flops and bytes.
nlohmann::ordered_json to_json(const std::vector<ProfiledOperation>& profile, int steps);

}  // namespace trainbench
