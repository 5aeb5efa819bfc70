#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/backend.h"
#include "common/report/result.h"
#include "common/system/device_info.h"

namespace trainbench {

/// The devices of this machine: opens backends on them and knows what they can do at most.
class Devices {
 public:
  struct Options {
    int gpu_index = 0;
    std::string cpu_provider = "auto";
    std::string gpu_provider = "auto";
    double peak_seconds = 0.1;  ///< how long each peak is measured; 0: none is
    /// Put between each opened backend and its user: a test plants wrong results with it.
    std::function<std::unique_ptr<Backend>(std::unique_ptr<Backend>)> wrap = nullptr;
  };

  Devices() = default;
  explicit Devices(Options options) : options_(std::move(options)) {}

  /// A backend for one case. `threads` is for the CPU: 0 takes the physical cores that may be used.
  /// Throws Unsupported with the reason where the device is not there.
  std::unique_ptr<Backend> open(const std::string& device, int threads) {
    return open(device, threads, "auto");
  }
  /// With products and convolutions by `provider`, where "auto" is what the options say. Throws
  /// Unsupported for one that this device or build does not have.
  std::unique_ptr<Backend> open(const std::string& device, int threads,
                                const std::string& provider);

  /// Throws Unsupported with the reason where the device is not there. Asking for the GPU is what
  /// first touches its driver.
  const DeviceInfo& info(const std::string& device);

  /// What results say of a GPU beyond that: compute capability, versions of CUDA; empty for the
  /// CPU.
  const nlohmann::ordered_json& details(const std::string& device);

  /// Clocks, power, temperature and modes of a GPU now (gpu/device_state.h); null for the CPU.
  nlohmann::ordered_json state(const std::string& device);

  /// Measured peaks, once per device and thread count.
  Peaks& peaks(const std::string& device, int threads);

  /// Measures them again where the row lies above one (settle_peaks of rates.h).
  void settle_peaks(CaseResult& result, int threads);

  /// Whether a device broke while its peaks were measured; standard error says how.
  bool peaks_failed() const { return peaks_failed_; }

 private:
  struct Probe {
    DeviceInfo info;
    std::string missing;  ///< why there is no such device
    nlohmann::ordered_json details = nlohmann::ordered_json::object();
  };
  const Probe& probe(const std::string& device);
  const Probe& present(const std::string& device);
  std::unique_ptr<Backend> open_bare(const std::string& device, int threads,
                                     const std::string& provider) const;
  Peaks measure(const std::string& device, int threads);
  static std::pair<std::string, int> peaks_key(const std::string& device, int threads) {
    return {device, device == "cpu" ? threads : 0};
  }

  Options options_;
  bool peaks_failed_ = false;
  std::map<std::string, Probe> probes_;
  std::map<std::pair<std::string, int>, Peaks> peaks_;
};

}  // namespace trainbench
