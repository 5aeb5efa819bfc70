#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace trainbench {

/// `trainbench lint FILE...`: what in result files would fool a reader.
void register_lint(CLI::App& app, std::function<int()>& action);

}  // namespace trainbench
