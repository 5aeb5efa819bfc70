#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "bench/harness/devices.h"
#include "common/data/data_sources.h"
#include "common/models/workload_data.h"

namespace trainbench {

/// What the cases of a run share: devices, data sets and the settings that are no axis of a suite.
struct RunEnvironment {
  Devices devices;
  std::uint64_t seed = 1;
  DataSources data;      ///< --data
  bool profile = false;  ///< --profile: cases say what each of their operations took

  /// The data set of that kind, loaded once.
  const Dataset& dataset(const std::string& kind, const SequenceShape& shape = {}) {
    auto& slot =
        datasets[kind + "/" + std::to_string(shape.steps) + "/" + std::to_string(shape.vocabulary)];
    if (!slot) slot = std::make_unique<Dataset>(load_dataset(kind, data.of(kind), seed, shape));
    return *slot;
  }
  /// The one that a workload of these sizes trains on.
  const Dataset& dataset(const Workload& workload, const ModelSizes& sizes) {
    return dataset(std::string(workload.dataset), sequence_shape(workload, sizes));
  }

  std::map<std::string, std::unique_ptr<Dataset>> datasets;
};

}  // namespace trainbench
