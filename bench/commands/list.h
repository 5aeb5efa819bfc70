#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace trainbench {

/// `trainbench list`: the cases of a suite, or of all of them, and the table of workloads. Touches
/// no device.
void register_list(CLI::App& app, std::function<int()>& action);

}  // namespace trainbench
