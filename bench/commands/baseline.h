#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace trainbench {

/// `trainbench baseline save FILE...` keeps runs of a machine and build, `baseline check NEW`
/// judges new ones by them, with the exit codes of `compare`.
void register_baseline(CLI::App& app, std::function<int()>& action);

}  // namespace trainbench
