#include "bench/commands/info.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/build_info.h"
#include "bench/commands/device_json.h"
#include "bench/commands/gpu_probe.h"
#include "bench/harness/number_flags.h"
#include "common/system/machine.h"
#include "cpu/peaks.h"
#include "cpu/providers.h"

namespace trainbench {
namespace {

using Json = nlohmann::ordered_json;

struct InfoOptions {
  bool json = false;
  double seconds = 0.1;
  double gpu_limit = 60;
};

/// Variables that let a library choose slower kernels than this CPU has: the baseline is then not
/// the best that this CPU can do.
constexpr std::array kKernelChoices{"OPENBLAS_CORETYPE", "ONEDNN_MAX_CPU_ISA",
                                    "DNNL_MAX_CPU_ISA",  "MKL_ENABLE_INSTRUCTIONS",
                                    "MKL_CBWR",          "BLIS_ARCH_TYPE"};

Json warnings(const Json& machine) {
  Json list = Json::array();
  const Json& variables = machine.at("environment").at("variables");
  for (const char* name : kKernelChoices) {
    if (!variables.contains(name)) continue;
    list.push_back(std::string(name) + "=" + variables.at(name).get<std::string>() +
                   " decides which kernels a CPU library uses; unset it for the fastest");
  }
  return list;
}

Json cpu_json(const InfoOptions& options) {
  const DeviceInfo info = cpu_device_info();
  Peaks peaks = measure_cpu_peaks(info.units, options.seconds);
  peaks.gemm = measure_cpu_gemm(info.units, options.seconds);
  Json json = device_json(info);
  json["threads"] = info.units;
  json["peaks"] = peaks_json(peaks);
  json["providers"] = Json::object();
  for (const auto& [name, version] : cpu_providers()) json["providers"][name] = version;
  return json;
}

Json collect(const InfoOptions& options) {
  Json info = {{"build", build_info()}, {"machine", machine_info()}};
  info["cpu"] = cpu_json(options);
  info["gpu"] = probe_gpus(options.seconds, options.gpu_limit);
  info["warnings"] = warnings(info["machine"]);
  return info;
}

// ---- Text -----------------------------------------------------------------------------------

std::string number(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

std::string binary_size(double bytes) {
  static constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < kUnits.size(); ++unit) bytes /= 1024;
  return number(bytes, bytes == static_cast<double>(static_cast<long long>(bytes)) ? 0 : 1) + " " +
         kUnits[unit];
}

void line(const char* label, const std::string& text) {
  std::printf("  %-10s %s\n", label, text.c_str());
}

/// "fp32 235, fp64 117 GFLOP/s", lowest first.
std::string rates(const Json& flops) {
  std::vector<std::pair<double, std::string>> sorted;
  for (const auto& [precision, rate] : flops.items()) sorted.emplace_back(rate, precision);
  std::sort(sorted.begin(), sorted.end());
  std::string text;
  for (const auto& [rate, precision] : sorted) {
    text += (text.empty() ? "" : ", ") + precision + " " + number(rate / 1e9, 1);
  }
  return text + " GFLOP/s";
}

void print_peaks(const Json& device) {
  const Json& peaks = device.at("peaks");
  line("peak", rates(peaks.at("flops")) + " (register-only loops)");
  if (!peaks.at("gemm").empty()) line("best GEMM", rates(peaks.at("gemm")));
  const double bandwidth = peaks.at("bandwidth");
  if (bandwidth > 0) line("bandwidth", number(bandwidth / 1e9, 1) + " GB/s (triad)");
}

/// The FP32 rate that lanes and clock promise, beside which the measured one stands.
void print_lanes(const Json& device) {
  const double lanes = device.at("lanes");
  const double clock = device.at("clock");
  if (lanes <= 0 || clock <= 0) return;
  line("FP32", number(lanes, 0) + " lanes x 2 (FMA) x " + number(clock / 1e9, 2) +
                   " GHz = " + number(2 * lanes * clock / 1e9, 1) + " GFLOP/s");
}

void print_caches(const Json& caches) {
  std::string text;
  for (const Json& cache : caches) {
    const std::string type = cache.at("type");
    text += (text.empty() ? "L" : ", L") + std::to_string(cache.at("level").get<int>());
    if (type == "Data") text += "d";
    if (type == "Instruction") text += "i";
    text += " " + std::to_string(cache.at("instances").get<int>()) + " x " +
            binary_size(cache.at("bytes"));
  }
  line("caches", text.empty() ? "hidden" : text);
}

std::string count(int number, const char* what) {
  return std::to_string(number) + " " + what + (number == 1 ? "" : "s");
}

void print_cpu(const Json& machine, const Json& device) {
  const Json& cpu = machine.at("cpu");
  std::printf("CPU: %s%s\n", device.at("name").get<std::string>().c_str(),
              cpu.at("virtual_machine").get<bool>() ? " (virtual machine)" : "");
  line("cores", std::to_string(cpu.at("usable_cores").get<int>()) + " usable of " +
                    std::to_string(cpu.at("cores").get<int>()) + "; " +
                    count(cpu.at("sockets"), "socket") + ", " +
                    count(cpu.at("numa_nodes"), "NUMA node") + ", " +
                    count(cpu.at("logical_cpus"), "logical CPU"));
  line("SIMD", cpu.at("simd"));
  print_caches(cpu.at("caches"));
  line("memory", binary_size(device.at("memory_bytes")));
  const bool hidden = cpu.at("nominal_clock").is_null();
  line("clock", number(device.at("clock").get<double>() / 1e9, 2) + " GHz" +
                    (hidden ? " measured; the nominal one is hidden"
                            : " (" + cpu.at("clock_source").get<std::string>() + ")"));
  print_lanes(device);
  print_peaks(device);
  for (const auto& [name, version] : device.at("providers").items()) {
    line("library", name + ": " + version.get<std::string>());
  }
}

/// "SM clock 1755 of 1980 MHz, ...": what the device does now of what it may do at most.
void print_state(const Json& state) {
  if (state.contains("missing")) {
    line("state", "unknown: " + state.at("missing").get<std::string>());
    return;
  }
  std::string text;
  const auto add = [&](const char* name, const char* now, const char* most, double unit,
                       const char* suffix) {
    if (state.at(now).is_null() || state.at(most).is_null()) return;
    text += (text.empty() ? "" : ", ") + std::string(name) + " " +
            number(state.at(now).get<double>() / unit, 0) + " of " +
            number(state.at(most).get<double>() / unit, 0) + " " + suffix;
  };
  add("SM clock", "sm_clock", "sm_clock_max", 1e6, "MHz");
  add("memory clock", "memory_clock", "memory_clock_max", 1e6, "MHz");
  add("power", "power", "power_limit", 1, "W");
  if (!text.empty()) line("state", text);
}

void print_gpu(const Json& device) {
  std::printf("GPU: %s%s\n", device.at("name").get<std::string>().c_str(),
              device.at("simulated").get<bool>() ? " (simulated: its rates are no speed)" : "");
  line("SMs", std::to_string(device.at("units").get<int>()));
  line("capability", device.at("capability"));
  line("memory", binary_size(device.at("memory_bytes")));
  print_lanes(device);
  print_state(device.at("state"));
  if (device.contains("peaks")) print_peaks(device);
  if (device.contains("reason")) line("peaks", "none: " + device.at("reason").get<std::string>());
}

void print(const Json& info) {
  std::printf("%s\n", version_text().c_str());
  print_cpu(info.at("machine"), info.at("cpu"));
  const Json& gpu = info.at("gpu");
  for (const Json& device : gpu.at("devices")) print_gpu(device);
  if (gpu.at("devices").empty()) {
    std::printf("GPU: none: %s\n", gpu.at("reason").get<std::string>().c_str());
  }
  for (const auto& [key, label] : {std::pair{"driver", "driver"}, std::pair{"runtime", "CUDA"},
                                   std::pair{"cublaslt", "cuBLASLt"}}) {
    const std::string version = gpu.value(key, "");
    if (!version.empty()) line(label, version);
  }
  for (const Json& warning : info.at("warnings")) {
    std::printf("warning: %s\n", warning.get<std::string>().c_str());
  }
}

int run_info(const InfoOptions& options) {
  const Json info = collect(options);
  if (options.json) {
    std::printf("%s\n", info.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
  } else {
    print(info);
  }
  return 0;
}

}  // namespace

void register_info(CLI::App& app, std::function<int()>& action) {
  CLI::App* command =
      app.add_subcommand("info", "Show this machine's devices and what they do at most");
  auto options = std::make_shared<InfoOptions>();
  command->add_flag("--json", options->json, "Print JSON");
  command->add_option("--seconds", options->seconds, "How long each peak is measured")
      ->capture_default_str()
      ->check(real_number(0.001, 3600));
  command->add_option("--gpu-limit", options->gpu_limit, "Seconds the GPUs have to answer")
      ->capture_default_str()
      ->check(real_number(0.001, 3600));
  command->callback([options, &action] { action = [options] { return run_info(*options); }; });
}

}  // namespace trainbench
