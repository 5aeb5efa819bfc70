#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace trainbench {

/// `trainbench info`: this machine's CPU and GPUs, what they do at most as measured here, and the
/// versions of what computes on them. GPUs are probed by a child process with a time limit.
void register_info(CLI::App& app, std::function<int()>& action);

}  // namespace trainbench
