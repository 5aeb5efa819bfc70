#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace trainbench {

/// `trainbench report`: result files as a page for people who did not run it.
void register_report(CLI::App& app, std::function<int()>& action);

}  // namespace trainbench
