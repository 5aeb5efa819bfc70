#include "bench/commands/gpu_probe.h"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>

#include "bench/commands/device_json.h"
#include "bench/harness/number_flags.h"
#include "common/system/child_process.h"
#include "common/system/host_files.h"
#if TRAINBENCH_HAS_CUDA
#include "gpu/cuda_device.h"
#include "gpu/device_state.h"
#include "gpu/peaks.h"
#endif

namespace trainbench {
namespace {

using Json = nlohmann::ordered_json;

#if TRAINBENCH_HAS_CUDA

void print_line(const Json& json) {
  std::printf("%s\n", json.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  std::fflush(stdout);
}

int print_gpus(double seconds_each) {
  const CudaProbe probe = probe_cuda();
  Json devices = Json::array();
  for (const CudaDevice& device : probe.devices) {
    Json json = device_json(device.info);
    json["capability"] = device.capability();
    json["state"] = cuda_device_state(static_cast<int>(devices.size()));
    if (!device.unusable.empty()) json["reason"] = device.unusable;
    devices.push_back(json);
  }
  print_line({{"devices", devices},
              {"reason", probe.reason},
              {"driver", probe.driver},
              {"runtime", probe.runtime},
              {"cublaslt", probe.cublaslt}});
  for (std::size_t i = 0; i < probe.devices.size(); ++i) {
    if (!probe.devices[i].unusable.empty()) continue;
    try {
      const Peaks peaks = measure_cuda_peaks(static_cast<int>(i), seconds_each);
      print_line({{"device", i}, {"peaks", peaks_json(peaks)}});
    } catch (const std::exception& error) {
      print_line({{"device", i}, {"reason", std::string("peaks: ") + error.what()}});
    }
  }
  return 0;
}

/// Puts a line about one device into the list of all.
void add_device_line(const Json& line, Json& found) {
  const std::size_t index = line.value("device", std::size_t{0});
  if (!found.contains("devices") || index >= found["devices"].size()) return;
  for (const char* key : {"peaks", "reason"}) {
    if (line.contains(key)) found["devices"][index][key] = line[key];
  }
}

#endif

}  // namespace

#if TRAINBENCH_HAS_CUDA

Json probe_gpus(double seconds_each, double limit_seconds) {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const ChildResult child =
      run_child({self, "gpu-probe", "--seconds", std::to_string(seconds_each)}, limit_seconds);
  Json found = {{"devices", Json::array()}, {"reason", ""}};
  for (const std::string& text : split_lines(child.output)) {
    const Json line = Json::parse(text, nullptr, false);
    if (!line.is_object()) continue;  // cut off by the child's end, or some library's own output
    if (line.contains("devices")) found = line;
    if (line.contains("device")) add_device_line(line, found);
  }
  if (child.good()) return found;
  const std::string failure = "the process that looked for it " + child.failure(limit_seconds);
  if (found["devices"].empty()) {
    found["reason"] = failure;
    return found;
  }
  for (Json& device : found["devices"]) {
    if (!device.contains("peaks") && !device.contains("reason")) device["reason"] = failure;
  }
  return found;
}

void register_gpu_probe(CLI::App& app, std::function<int()>& action) {
  CLI::App* command = app.add_subcommand("gpu-probe", "Print the GPUs of this machine as JSON");
  command->group("");  // not in --help: `info` runs it
  auto seconds = std::make_shared<double>(0.1);
  command->add_option("--seconds", *seconds, "How long each peak is measured")
      ->check(real_number(0.001, 3600));
  command->callback([seconds, &action] { action = [seconds] { return print_gpus(*seconds); }; });
}

#else

Json probe_gpus(double, double) {
  return {
      {"devices", Json::array()},
      {"reason", "this build has no GPU side: no CUDA toolkit was found when it was configured"}};
}

void register_gpu_probe(CLI::App&, std::function<int()>&) {}

#endif

}  // namespace trainbench
