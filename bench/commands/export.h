#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace trainbench {

/// `trainbench export FILE... --format F`: results for other tools.
void register_export(CLI::App& app, std::function<int()>& action);

}  // namespace trainbench
