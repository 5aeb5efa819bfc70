#pragma once

#include <string>

namespace trainbench {

/// Makes a new folder whose name begins with `prefix` and gives its path. Throws InputError that
/// names the place where none can be made.
std::string make_unique_folder(const std::string& prefix);

}  // namespace trainbench
