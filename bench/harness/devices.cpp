#include "bench/harness/devices.h"

#include <cstdio>

#include "bench/harness/rates.h"
#include "cpu/cpu_backend.h"
#include "cpu/peaks.h"
#if TRAINBENCH_HAS_CUDA
#include "gpu/cuda_backend.h"
#include "gpu/cuda_device.h"
#include "gpu/device_state.h"
#include "gpu/peaks.h"
#endif

namespace trainbench {

const Devices::Probe& Devices::probe(const std::string& device) {
  const auto known = probes_.find(device);
  if (known != probes_.end()) return known->second;
  Probe probe;
  if (device == "cpu") {
    probe.info = cpu_device_info();
  } else {
#if TRAINBENCH_HAS_CUDA
    const CudaProbe cuda = probe_cuda();
    const auto index = static_cast<std::size_t>(options_.gpu_index);
    if (index < cuda.devices.size()) {
      probe.info = cuda.devices[index].info;
      probe.missing = cuda.devices[index].unusable;
      probe.details = {
          {"capability", cuda.devices[index].capability()},
          {"cuda",
           {{"driver", cuda.driver}, {"runtime", cuda.runtime}, {"cublaslt", cuda.cublaslt}}}};
    } else if (cuda.devices.empty()) {
      probe.missing = cuda.reason;
    } else {
      probe.missing = "there is no GPU " + std::to_string(options_.gpu_index) + "; the last is " +
                      std::to_string(cuda.devices.size() - 1);
    }
#else
    probe.missing = "this build has no GPU side: no CUDA toolkit was found when it was configured";
#endif
  }
  return probes_.emplace(device, std::move(probe)).first->second;
}

const Devices::Probe& Devices::present(const std::string& device) {
  const Probe& found = probe(device);
  if (!found.missing.empty()) throw Unsupported(found.missing);
  return found;
}

const DeviceInfo& Devices::info(const std::string& device) { return present(device).info; }

const nlohmann::ordered_json& Devices::details(const std::string& device) {
  return present(device).details;
}

nlohmann::ordered_json Devices::state(const std::string& device) {
  present(device);
#if TRAINBENCH_HAS_CUDA
  if (device != "cpu") return cuda_device_state(options_.gpu_index);
#endif
  return {};
}

std::unique_ptr<Backend> Devices::open(const std::string& device, int threads,
                                       const std::string& provider) {
  info(device);
  std::unique_ptr<Backend> backend;
  if (provider == "auto") {
    backend =
        open_bare(device, threads, device == "cpu" ? options_.cpu_provider : options_.gpu_provider);
  } else {
    try {
      backend = open_bare(device, threads, provider);
    } catch (const InputError& error) {
      throw Unsupported(error.what());
    }
  }
  return options_.wrap ? options_.wrap(std::move(backend)) : std::move(backend);
}

std::unique_ptr<Backend> Devices::open_bare(const std::string& device, int threads,
                                            const std::string& provider) const {
  if (device == "cpu") return make_cpu_backend({.threads = threads, .provider = provider});
#if TRAINBENCH_HAS_CUDA
  return make_cuda_backend({.device = options_.gpu_index, .provider = provider});
#else
  throw Unsupported("this build has no GPU side");
#endif
}

Peaks Devices::measure(const std::string& device, int threads) {
  if (options_.peak_seconds <= 0) return {};
  if (device == "cpu") return measure_cpu_peaks(threads, options_.peak_seconds);
#if TRAINBENCH_HAS_CUDA
  try {
    return measure_cuda_peaks(options_.gpu_index, options_.peak_seconds);
  } catch (const DeviceError& error) {
    // A device that breaks here costs its shares of a peak, not what else the run measures.
    peaks_failed_ = true;
    std::fprintf(stderr, "trainbench: the GPU's peaks are unknown: %s\n", error.what());
    return {};
  }
#else
  return {};
#endif
}

Peaks& Devices::peaks(const std::string& device, int threads) {
  info(device);
  const auto key = peaks_key(device, threads);
  const auto known = peaks_.find(key);
  if (known != peaks_.end()) return known->second;
  return peaks_.emplace(key, measure(device, threads)).first->second;
}

void Devices::settle_peaks(CaseResult& result, int threads) {
  const std::string& device = result.id.device;
  trainbench::settle_peaks(result, peaks(device, threads),
                           [&] { return measure(device, threads); });
}

}  // namespace trainbench
