#include "gpu/device_state.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <array>
#include <memory>
#include <optional>

#include "common/core/error.h"
#include "common/system/salted_hash.h"

namespace trainbench {
namespace {

using Json = nlohmann::ordered_json;

// What we use of NVML's interface (NVML API Reference Guide), declared here: its header comes with
// a part of the toolkit that few install.
using NvmlDevice = struct OpaqueNvmlDevice*;
constexpr int kSuccess = 0;
constexpr int kSmClock = 1;           // nvmlClockType_t
constexpr int kMemoryClock = 2;       // nvmlClockType_t
constexpr int kTemperatureOfGpu = 0;  // nvmlTemperatureSensors_t

/// The bits of nvmlClocksEventReasons, from the lowest on.
constexpr std::array kThrottleReasons{"gpu_idle",
                                      "applications_clocks_setting",
                                      "sw_power_cap",
                                      "hw_slowdown",
                                      "sync_boost",
                                      "sw_thermal_slowdown",
                                      "hw_thermal_slowdown",
                                      "hw_power_brake_slowdown",
                                      "display_clock_setting"};

/// The library, started for as long as this lives. Throws Unsupported where it does not start.
class Nvml {
 public:
  explicit Nvml(const std::string& name) : library_(dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw Unsupported(std::string("NVML: ") + dlerror());
    const auto init = function<int()>("nvmlInit_v2");
    if (init == nullptr) throw Unsupported("NVML: " + name + " has no nvmlInit_v2");
    require(init());
  }
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() {
    if (const auto shutdown = function<int()>("nvmlShutdown")) shutdown();
  }

  /// The device that CUDA counts as `index`: CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER give it
  /// another number than NVML does, the bus is the same.
  NvmlDevice device(int index) const {
    std::array<char, 32> bus{};
    const cudaError_t error = cudaDeviceGetPCIBusId(bus.data(), bus.size(), index);
    if (error != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      throw Unsupported("CUDA device " + std::to_string(index) + ": " + cudaGetErrorString(error));
    }
    const auto find = function<int(const char*, NvmlDevice*)>("nvmlDeviceGetHandleByPciBusId_v2");
    if (find == nullptr) throw Unsupported("NVML: it does not find devices by their bus");
    NvmlDevice found = nullptr;
    require(find(bus.data(), &found));
    return found;
  }

  /// What the getter says; nothing where this NVML lacks it or the device refuses.
  template <typename Value = unsigned, typename... Arguments>
  std::optional<Value> get(const char* getter, Arguments... arguments) const {
    Value value{};
    const auto ask = function<int(Arguments..., Value*)>(getter);
    if (ask == nullptr || ask(arguments..., &value) != kSuccess) return std::nullopt;
    return value;
  }

  /// The current one of a mode that has a pending one too.
  std::optional<unsigned> mode(const char* getter, NvmlDevice device) const {
    unsigned current = 0;
    unsigned pending = 0;
    const auto ask = function<int(NvmlDevice, unsigned*, unsigned*)>(getter);
    if (ask == nullptr || ask(device, &current, &pending) != kSuccess) return std::nullopt;
    return current;
  }

  template <typename... Arguments>
  std::optional<std::string> text(const char* getter, Arguments... arguments) const {
    std::array<char, 96> buffer{};  // NVML_DEVICE_UUID_V2_BUFFER_SIZE, the longest
    const auto ask = function<int(Arguments..., char*, unsigned)>(getter);
    if (ask == nullptr || ask(arguments..., buffer.data(), buffer.size()) != kSuccess) {
      return std::nullopt;
    }
    return buffer.data();
  }

 private:
  struct Close {
    void operator()(void* library) const { dlclose(library); }
  };

  template <typename Signature>
  Signature* function(const char* name) const {
    return reinterpret_cast<Signature*>(dlsym(library_.get(), name));
  }

  void require(int status) const {
    if (status == kSuccess) return;
    const auto describe = function<const char*(int)>("nvmlErrorString");
    throw Unsupported("NVML: " + (describe == nullptr ? "error " + std::to_string(status)
                                                      : std::string(describe(status))));
  }

  std::unique_ptr<void, Close> library_;
};

Json hertz(std::optional<unsigned> megahertz) {
  return megahertz ? Json(*megahertz * 1e6) : Json();
}

Json watts(std::optional<unsigned> milliwatts) {
  return milliwatts ? Json(*milliwatts / 1e3) : Json();
}

Json number(std::optional<unsigned> value) { return value ? Json(*value) : Json(); }

Json enabled(std::optional<unsigned> mode) { return mode ? Json(*mode != 0) : Json(); }

Json throttle_reasons(std::optional<unsigned long long> bits) {
  if (!bits) return {};
  Json reasons = Json::array();
  for (unsigned bit = 0; bit < 64; ++bit) {
    if ((*bits >> bit & 1) == 0) continue;
    reasons.push_back(bit < kThrottleReasons.size() ? kThrottleReasons[bit]
                                                    : "bit_" + std::to_string(bit));
  }
  return reasons;
}

Json state_of(const Nvml& nvml, NvmlDevice gpu) {
  const auto driver = nvml.text("nvmlSystemGetDriverVersion");
  const auto uuid = nvml.text("nvmlDeviceGetUUID", gpu);
  const auto reasons = nvml.get<unsigned long long>("nvmlDeviceGetCurrentClocksEventReasons", gpu);
  return {{"driver", driver ? Json(*driver) : Json()},
          {"uuid_hash", uuid ? Json(salted_hash(*uuid)) : Json()},
          {"persistence_mode", enabled(nvml.get("nvmlDeviceGetPersistenceMode", gpu))},
          {"ecc", enabled(nvml.mode("nvmlDeviceGetEccMode", gpu))},
          {"mig", enabled(nvml.mode("nvmlDeviceGetMigMode", gpu))},
          {"sm_clock", hertz(nvml.get("nvmlDeviceGetClockInfo", gpu, kSmClock))},
          {"sm_clock_max", hertz(nvml.get("nvmlDeviceGetMaxClockInfo", gpu, kSmClock))},
          {"memory_clock", hertz(nvml.get("nvmlDeviceGetClockInfo", gpu, kMemoryClock))},
          {"memory_clock_max", hertz(nvml.get("nvmlDeviceGetMaxClockInfo", gpu, kMemoryClock))},
          {"power", watts(nvml.get("nvmlDeviceGetPowerUsage", gpu))},
          {"power_limit", watts(nvml.get("nvmlDeviceGetEnforcedPowerLimit", gpu))},
          {"temperature", number(nvml.get("nvmlDeviceGetTemperature", gpu, kTemperatureOfGpu))},
          {"throttle_reasons", throttle_reasons(reasons)},
          {"pcie",
           {{"generation", number(nvml.get("nvmlDeviceGetCurrPcieLinkGeneration", gpu))},
            {"generation_max", number(nvml.get("nvmlDeviceGetMaxPcieLinkGeneration", gpu))},
            {"width", number(nvml.get("nvmlDeviceGetCurrPcieLinkWidth", gpu))},
            {"width_max", number(nvml.get("nvmlDeviceGetMaxPcieLinkWidth", gpu))}}}};
}

}  // namespace

Json cuda_device_state(int device, const std::string& library) {
  try {
    const Nvml nvml(library);
    return state_of(nvml, nvml.device(device));
  } catch (const Unsupported& error) {
    return {{"missing", error.what()}};
  }
}

}  // namespace trainbench
