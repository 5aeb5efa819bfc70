#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "bench/harness/devices.h"
#include "common/data/dataset.h"

namespace trainbench {

/// What the cases of a run share: devices, data sets and the settings that are no axis of a suite.
struct RunEnvironment {
  Devices devices;
  std::uint64_t seed = 1;
  std::string data;  ///< --data: a folder, "synthetic", or empty for the default

  /// The data set of that kind, loaded once.
  const Dataset& dataset(const std::string& kind) {
    auto& slot = datasets[kind];
    if (!slot) slot = std::make_unique<Dataset>(load_dataset(kind, data, seed));
    return *slot;
  }

  std::map<std::string, std::unique_ptr<Dataset>> datasets;
};

}  // namespace trainbench
