#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace trainbench {

/// `trainbench ab BINARY_A BINARY_B`: measures two builds of this program in turns, block by block,
/// and judges B by A as `compare` does. Exit codes as there; 130: interrupted.
void register_ab(CLI::App& app, std::function<int()>& action);

}  // namespace trainbench
