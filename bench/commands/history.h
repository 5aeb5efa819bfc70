#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace trainbench {

/// `trainbench history DIR...`: how each case's metric went over many result files.
void register_history(CLI::App& app, std::function<int()>& action);

}  // namespace trainbench
