#pragma once

#include <nlohmann/json.hpp>

#include "common/system/device_info.h"

namespace trainbench {

/// A device as results and `info --json` write it.
inline nlohmann::ordered_json device_json(const DeviceInfo& info) {
  return {{"kind", info.kind},           {"name", info.name},
          {"simulated", info.simulated}, {"memory_bytes", info.memory_bytes},
          {"units", info.units},         {"lanes", info.lanes},
          {"clock", info.clock}};
}

inline nlohmann::ordered_json peaks_json(const Peaks& peaks) {
  return {{"flops", peaks.flops}, {"gemm", peaks.gemm}, {"bandwidth", peaks.bandwidth}};
}

}  // namespace trainbench
