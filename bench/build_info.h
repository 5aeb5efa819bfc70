#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace trainbench {

/// What this binary was built from and with: version, commit, compiler, flags, architecture.
nlohmann::ordered_json build_info();

/// The text of --version.
std::string version_text();

}  // namespace trainbench
