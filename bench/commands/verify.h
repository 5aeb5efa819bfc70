#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace trainbench {

/// `trainbench verify`: every operation, and a training step of every workload, against references
/// in double on each device and precision. Exit code 1 if a result lies outside its tolerance.
void register_verify(CLI::App& app, std::function<int()>& action);

}  // namespace trainbench
