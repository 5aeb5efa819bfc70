#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace trainbench {

/// `trainbench compare BASE NEW`: judges two sides, each one or several result files. Exit code 0:
/// no regression, 1: regression, 3: undecided where asked to fail on it.
void register_compare(CLI::App& app, std::function<int()>& action);

}  // namespace trainbench
