#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "bench/harness/run_environment.h"

namespace trainbench {

/// What is verified, and how it is told.
struct VerifyOptions {
  std::vector<std::string> devices{"all"};  ///< "cpu", "gpu", "all"
  std::vector<std::string> precisions;      ///< empty: all
  std::string filter;  ///< of parts, by name: "operations", "mlp separate"; empty: all
  int threads = 0;
  bool json = false;
};

/// Checks every operation, and two training steps of every workload, against references in double
/// and prints each result. The program's exit code: 1 if a result lies outside its tolerance or a
/// device failed, else 0. Throws InputError where none of the devices is there.
int verify(const VerifyOptions& options, RunEnvironment& environment);

/// `trainbench verify`.
void register_verify(CLI::App& app, std::function<int()>& action);

}  // namespace trainbench
