#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>

namespace trainbench {

/// The GPUs of this machine, their peaks measured for about `seconds_each`, as a child process
/// found them: a driver that hangs or crashes costs that process alone. `devices` is a list,
/// `reason` says why it is empty; a device without `peaks` has a `reason` of its own.
nlohmann::ordered_json probe_gpus(double seconds_each, double limit_seconds);

/// The hidden subcommand that is this child: it prints one line of JSON for what there is, and then
/// one for each device's peaks.
void register_gpu_probe(CLI::App& app, std::function<int()>& action);

}  // namespace trainbench
