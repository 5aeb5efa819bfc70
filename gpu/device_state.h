#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace trainbench {

/// What the driver's management library (NVML) says of a CUDA device now: driver, modes, clocks in
/// Hz, power in W, temperature in degrees Celsius, why the clocks are held down, PCIe link, and a
/// hash for the UUID. The result schema describes the keys. A value that NVML refuses is null;
/// without NVML or the device there is only `missing`, the reason. `library` is opened for the
/// call.
nlohmann::ordered_json cuda_device_state(int device,
                                         const std::string& library = "libnvidia-ml.so.1");

}  // namespace trainbench
