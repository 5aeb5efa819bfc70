#pragma once

#include <string>

namespace trainbench {

/// Tells things apart without naming them: 16 letters of a one-way hash, salted with our name, that
/// may stand in file names and in published results.
std::string salted_hash(const std::string& identity);

}  // namespace trainbench
