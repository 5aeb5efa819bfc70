#include "common/report/comparability.h"

#include <algorithm>
#include <cctype>
#include <map>

#include "common/config/json_file.h"
#include "common/config/spelling.h"
#include "common/report/speedup.h"
#include "common/system/salted_hash.h"

namespace trainbench {
namespace {

/// A value of a report's context: where it stands and what people call it.
struct Place {
  const char* path;
  const char* name;
};

constexpr Place kMachine[] = {
    {"/machine/host_id", "machine (host id)"},
    {"/machine/cpu/usable_cores", "usable CPU cores"},
};

constexpr Place kBuild[] = {
    {"/build/build_type", "build type"}, {"/build/compiler", "compiler"},
    {"/build/flags", "compiler flags"},  {"/build/arch", "target architecture"},
    {"/build/sanitizers", "sanitizers"}, {"/build/cuda_compiler", "CUDA compiler"},
};

constexpr Place kSettings[] = {
    {"/settings/cpu_provider", "--cpu-provider"},
    {"/settings/gpu_provider", "--gpu-provider"},
};

/// Of each device that is there; its kind goes before the name.
constexpr Place kDevice[] = {
    {"/name", "name"},
    {"/state/before/uuid_hash", "UUID (hash)"},
    {"/state/before/driver", "driver"},
    {"/cuda/driver", "CUDA driver"},
    {"/cuda/runtime", "CUDA runtime"},
    {"/cuda/cublaslt", "cuBLASLt"},
    {"/threads", "threads"},
};

constexpr Place kAnotherProgram[] = {
    {"/host_name", "machine (host name)"},
    {"/num_cpus", "CPUs"},
};

template <class Places>
void add(const Json& object, const Places& places, const std::string& prefix,
         std::vector<Condition>& conditions) {
  for (const Place& place : places) {
    const Json::json_pointer pointer(place.path);
    if (!object.is_object() || !object.contains(pointer)) continue;
    const Json& value = object.at(pointer);
    if (value.is_null()) continue;
    conditions.push_back(
        {prefix + place.name, value.is_string() ? value.get<std::string>() : value.dump()});
  }
}

void add_devices(const Report& report, std::vector<Condition>& conditions) {
  std::map<std::string, int> number;
  for (const Json& device : devices_of(report)) {
    if (!device.is_object() || device.contains("missing")) continue;
    const std::string kind = device.value("kind", "");
    std::string prefix = kind == "cpu" ? "CPU " : kind == "gpu" ? "GPU " : kind + " ";
    if (const int before = number[kind]++; before > 0) prefix += std::to_string(before) + " ";
    add(device, kDevice, prefix, conditions);
  }
}

/// Libraries that the CPU's operations may go to: an upgrade of one is no change of the code.
void add_libraries(const Json& context, std::vector<Condition>& conditions) {
  const auto libraries = context.find("cpu_providers");
  if (libraries == context.end() || !libraries->is_object()) return;
  for (const auto& [name, version] : libraries->items()) {
    conditions.push_back(
        {"library " + name, version.is_string() ? version.get<std::string>() : version.dump()});
  }
}

const std::string* value_of(const std::vector<Condition>& conditions, const std::string& name) {
  const auto found = std::find_if(conditions.begin(), conditions.end(),
                                  [&](const Condition& each) { return each.name == name; });
  return found == conditions.end() ? nullptr : &found->value;
}

}  // namespace

std::vector<Condition> conditions_of(const Report& report) {
  std::vector<Condition> conditions;
  const bool ours = report.context.is_object();
  if (ours) {
    add(report.context, kMachine, "", conditions);
    add(report.context, kBuild, "", conditions);
    add_devices(report, conditions);
    add(report.context, kSettings, "", conditions);
    add_libraries(report.context, conditions);
  } else {
    add(report.google_context, kAnotherProgram, "", conditions);
  }
  conditions.push_back({"program", ours ? "trainbench" : "another"});
  return conditions;
}

std::string machine_of(const Report& report) {
  const std::vector<Condition> conditions = conditions_of(report);
  const std::string* id = value_of(conditions, kMachine[0].name);
  // What stands in a file may be anything; a folder is named by this.
  const bool plain = id != nullptr && !id->empty() && id->size() <= 64 &&
                     std::all_of(id->begin(), id->end(), [](unsigned char c) {
                       return std::isalnum(c) != 0 || c == '-' || c == '_';
                     });
  if (plain) return *id;
  if (id == nullptr) id = value_of(conditions, kAnotherProgram[0].name);
  return id == nullptr ? "" : salted_hash(id->substr(0, 400));
}

std::string build_of(const Report& report) {
  std::vector<Condition> conditions;
  add(report.context, kBuild, "", conditions);
  std::string hash;
  for (const Condition& each : conditions) {
    // The hash takes 512 bytes at a time.
    const std::string text = each.name + "=" + each.value;
    for (std::size_t i = 0; i < text.size(); i += 400)
      hash = salted_hash(hash + text.substr(i, 400));
  }
  return hash.empty() ? "another-program" : hash;
}

std::string differences(const std::vector<const Report*>& reports) {
  std::vector<std::vector<Condition>> all;
  for (const Report* report : reports) all.push_back(conditions_of(*report));
  // A name is compared where it first stands with where it stands next, so each is told once.
  std::string text;
  std::vector<std::string> told;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const Condition& condition : all[i]) {
      if (std::find(told.begin(), told.end(), condition.name) != told.end()) continue;
      for (std::size_t j = i + 1; j < all.size(); ++j) {
        const std::string* other = value_of(all[j], condition.name);
        if (other == nullptr || *other == condition.value) continue;
        text += (text.empty() ? "" : ", ") + printable(condition.name) + " (" +
                in_quotes(condition.value) + " and " + in_quotes(*other) + ")";
        told.push_back(condition.name);
        break;
      }
    }
  }
  return text;
}

std::string unfit_build(const Report& report) {
  const std::vector<Condition> conditions = conditions_of(report);
  const std::string* type = value_of(conditions, "build type");
  if (type != nullptr && *type == "Debug") return "a debug build";
  const std::string* sanitizers = value_of(conditions, "sanitizers");
  if (sanitizers != nullptr && !sanitizers->empty()) {
    return "a build with sanitizers (" + printable(*sanitizers) + ")";
  }
  return "";
}

}  // namespace trainbench
