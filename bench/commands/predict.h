#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace trainbench {

/// `trainbench predict`: estimates of training steps on devices that need not be here. Measures
/// nothing and touches no device.
void register_predict(CLI::App& app, std::function<int()>& action);

}  // namespace trainbench
