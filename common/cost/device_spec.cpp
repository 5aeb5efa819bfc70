#include "common/cost/device_spec.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "common/config/spelling.h"
#include "common/config/suite.h"
#include "common/config/typed_reader.h"
#include "common/core/error.h"

namespace trainbench {
namespace {

constexpr double kLargestRate = 1e18;
constexpr std::size_t kLongestName = 80;
constexpr std::size_t kLongestSource = 1000;

std::string read_source(const JsonNode& node) { return node.text(1, kLongestSource); }

RatedPeak read_peak(const JsonNode& node) {
  const ObjectReader object(node, {"flops", "accumulator", "unit", "note"});
  RatedPeak peak;
  peak.flops = object.required("flops").number(1, kLargestRate);
  peak.accumulator = object.required("accumulator").choice({"fp64", "fp32", "fp16", "int32"});
  const std::string_view tensor = name_of(MathUnit::tensor_cores);
  const std::string unit = object.required("unit").choice({name_of(MathUnit::cuda_cores), tensor});
  peak.unit = unit == tensor ? MathUnit::tensor_cores : MathUnit::cuda_cores;
  if (const auto note = object.optional("note")) read_source(*note);
  return peak;
}

std::map<std::string, RatedPeak> read_peaks(const JsonNode& node) {
  const std::vector<std::string_view> precisions{"fp64", "fp32", "tf32", "fp16",
                                                 "bf16", "fp8",  "int8"};
  const ObjectReader object(node, precisions);
  object.required("fp32");
  std::map<std::string, RatedPeak> peaks;
  for (const auto& [precision, peak] : node.members()) peaks[precision] = read_peak(peak);
  return peaks;
}

Link read_link(const JsonNode& node) {
  const ObjectReader object(node, {"name", "bandwidth"});
  return {object.required("name").text(1, kLongestName),
          object.required("bandwidth").number(1, kLargestRate)};
}

std::map<std::string, std::string> read_sources(const JsonNode& node) {
  const ObjectReader object(
      node, {"memory_bytes", "bandwidth", "peaks", "power", "host_link", "peer_link"});
  for (const char* key : {"memory_bytes", "bandwidth", "peaks", "power", "host_link"}) {
    object.required(key);
  }
  std::map<std::string, std::string> sources;
  for (const auto& [key, source] : node.members()) sources[key] = read_source(source);
  return sources;
}

}  // namespace

std::string_view name_of(MathUnit unit) {
  return unit == MathUnit::tensor_cores ? "tensor-cores" : "cuda-cores";
}

const RatedPeak& DeviceSpec::peak(const Precision& precision) const {
  const auto found = peaks.find(std::string(precision.name));
  if (found == peaks.end()) {
    throw Unsupported(name + " has no rate for " + std::string(precision.name));
  }
  const std::string_view sums = precision.master == DType::f64 ? "fp64" : "fp32";
  if (found->second.accumulator != sums) {
    throw Unsupported(name + "'s rate for " + std::string(precision.name) + " keeps sums in " +
                      found->second.accumulator + ", training needs " + std::string(sums));
  }
  return found->second;
}

const std::vector<std::string_view>& architectures() {
  static const std::vector<std::string_view> names{"pascal", "volta", "ampere", "ada", "hopper"};
  return names;
}

DeviceSpec read_device_spec(const std::string& file) {
  const Json document = read_json_file(file);
  const ObjectReader object(JsonNode(document, file),
                            {"name", "architecture", "memory_bytes", "bandwidth", "peaks", "power",
                             "host_link", "peer_link", "sources"});
  DeviceSpec device;
  device.name = object.required("name").text(1, kLongestName);
  device.architecture = object.required("architecture").choice(architectures());
  device.memory_bytes =
      static_cast<double>(object.required("memory_bytes").integer(1, std::int64_t{1} << 50));
  device.bandwidth = object.required("bandwidth").number(1, kLargestRate);
  device.peaks = read_peaks(object.required("peaks"));
  device.power = object.required("power").number(1, 1e5);
  device.host_link = read_link(object.required("host_link"));
  if (const auto link = object.optional("peer_link")) device.peer_link = read_link(*link);
  device.sources = read_sources(object.required("sources"));
  return device;
}

std::vector<std::string> device_names() {
  std::set<std::string> names;
  for (const std::filesystem::path& folder : config_folders()) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder / "devices", error)) {
      if (entry.path().extension() == ".json") names.insert(entry.path().stem().string());
    }
  }
  return {names.begin(), names.end()};
}

DeviceSpec find_device(const std::string& name_or_file) {
  const std::filesystem::path path(name_or_file);
  if (path.extension() == ".json") return read_device_spec(name_or_file);
  for (const std::filesystem::path& folder : config_folders()) {
    const std::filesystem::path file = folder / "devices" / (name_or_file + ".json");
    std::error_code error;
    if (!path.has_parent_path() && std::filesystem::exists(file, error)) {
      return read_device_spec(file.string());
    }
  }
  const std::vector<std::string> names = device_names();
  throw InputError("no device is called " + in_quotes(name_or_file) + "; " +
                   right_spelling(name_or_file, {names.begin(), names.end()}) +
                   " (a file's name ends in .json)");
}

}  // namespace trainbench
