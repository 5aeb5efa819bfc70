#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace trainbench {

/// What a device can do at most, measured on it. Absent entries were not measured.
struct Peaks {
  std::map<std::string, double> flops;  ///< FLOP/s by precision name: a register-only loop
  std::map<std::string, double> gemm;   ///< FLOP/s by precision name: the best product met
  double bandwidth = 0;                 ///< bytes/s of a triad far larger than the caches; 0: none
};

/// A device as reports show it.
struct DeviceInfo {
  std::string kind;  ///< "cpu" or "gpu"
  std::string name;
  bool simulated = false;
  std::size_t memory_bytes = 0;
  int units = 0;     ///< cores that may be used, or SMs
  double lanes = 0;  ///< FP32 lanes of all units together
  double clock = 0;  ///< Hz; 0 where the machine hides it
};

/// Whether a device of this name is a simulation.
inline bool is_simulated_name(const std::string& name) {
  return name.find("simgpu") != std::string::npos || name.find("simulated") != std::string::npos;
}

}  // namespace trainbench
