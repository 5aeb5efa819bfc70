#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace trainbench {

/// `trainbench run`: runs a suite, writes its JSON, prints its table. `command_line` is the whole
/// command line, for the record.
void register_run(CLI::App& app, const std::vector<std::string>& command_line,
                  const std::vector<std::string>& google_benchmark_flags,
                  std::function<int()>& action);

}  // namespace trainbench
