#include "common/system/machine.h"

#include <omp.h>
#include <sched.h>
#include <sys/personality.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <sstream>
#include <vector>

#include "common/system/cgroup.h"
#include "common/system/cpu_topology.h"
#include "common/system/environment.h"
#include "common/system/host_files.h"
#include "common/system/salted_hash.h"

namespace trainbench {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Json text_or_null(const std::optional<std::string>& text) {
  return text && !text->empty() ? Json(*text) : Json();
}

Json cpu_json(const fs::path& root, const CpuTopology& topology) {
  Json caches = Json::array();
  for (const CpuCache& cache : topology.caches) {
    caches.push_back({{"level", cache.level},
                      {"type", cache.type},
                      {"bytes", cache.bytes},
                      {"shared_by", cache.shared_by},
                      {"instances", cache.instances}});
  }
  const double quota = cpu_quota(root);
  const bool known_clock = topology.nominal_clock > 0;
  return {{"model", text_or_null(topology.model)},
          {"sockets", topology.sockets},
          {"cores", topology.cores},
          {"logical_cpus", topology.cpus.size()},
          {"smt", topology.smt()},
          {"numa_nodes", topology.nodes},
          {"simd", topology.simd()},
          {"virtual_machine", topology.virtual_machine},
          {"nominal_clock", known_clock ? Json(topology.nominal_clock) : Json()},
          {"clock_source", topology.clock_source},
          {"caches", caches},
          {"allowed_cpus", allowed_cpus()},
          {"quota", std::isinf(quota) ? Json() : Json(quota)},
          {"usable_cores", usable_cores(topology, allowed_cpus(), quota)}};
}

/// Whether the clock may rise above the nominal one: intel_pstate and cpufreq say it the other way
/// round. Null where neither is visible.
Json turbo(const fs::path& root) {
  const fs::path cpus = root / "sys/devices/system/cpu";
  if (const auto off = read_host_file(cpus / "intel_pstate/no_turbo")) return *off == "0";
  if (const auto on = read_host_file(cpus / "cpufreq/boost")) return *on == "1";
  return {};
}

/// The chosen one of "always [madvise] never".
std::optional<std::string> bracketed(const std::optional<std::string>& choices) {
  if (!choices) return std::nullopt;
  const std::size_t open = choices->find('[');
  const std::size_t close = choices->find(']');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  return choices->substr(open + 1, close - open - 1);
}

Json number_or_null(std::optional<std::uint64_t> number, std::uint64_t unit) {
  return number ? Json(*number * unit) : Json();
}

Json load_average(const fs::path& root) {
  std::istringstream text(read_host_file(root / "proc/loadavg").value_or(""));
  std::array<double, 3> averages{};
  if (text >> averages[0] >> averages[1] >> averages[2]) return averages;
  return {};
}

bool in_container(const fs::path& root) {
  for (const char* mark : {".dockerenv", "run/.containerenv", "run/systemd/container"}) {
    if (fs::exists(root / mark)) return true;
  }
  const std::string cgroups = read_host_file(root / "proc/self/cgroup").value_or("");
  for (const char* runtime : {"/docker", "/kubepods", "/lxc", "/libpod", "/containerd"}) {
    if (cgroups.find(runtime) != std::string::npos) return true;
  }
  return false;
}

Json kernel() {
  utsname names{};
  if (uname(&names) != 0) return {};
  return std::string(names.sysname) + " " + names.release + " " + names.machine;
}

/// Address space randomization of this process.
Json aslr(const fs::path& root) {
  const int own = personality(0xffffffff);  // asks without changing
  if (own != -1 && (own & ADDR_NO_RANDOMIZE) != 0) return "off for this process";
  const auto level = read_host_file(root / "proc/sys/kernel/randomize_va_space");
  if (!level) return {};
  return *level == "0" ? "off" : *level == "1" ? "conservative" : "full";
}

/// OpenMP's threads as they are outside of any operation: where each runs, and whether results
/// below the smallest normal number become zero there.
Json threads() {
  const auto count = static_cast<std::size_t>(usable_cores());
  std::vector<int> map(count, -1);
  std::vector<char> flushes(count, 0);
#pragma omp parallel num_threads(static_cast <int>(count))
  {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    volatile double smallest = std::numeric_limits<double>::min();
    map[thread] = sched_getcpu();
    flushes[thread] = smallest / 2 == 0;
  }
  static constexpr std::array kBindings{"false", "true", "primary", "close", "spread"};
  const auto binding = static_cast<std::size_t>(omp_get_proc_bind());
  const bool flush = std::any_of(flushes.begin(), flushes.end(), [](char f) { return f != 0; });
  return {{"openmp_version", _OPENMP},
          {"proc_bind", binding < kBindings.size() ? Json(kBindings[binding]) : Json()},
          {"places", omp_get_num_places()},
          {"map", map},
          {"flush_to_zero", flush}};
}

Json environment_json() {
  const SanitizedEnvironment& sanitized = sanitized_environment();
  return {{"variables", relevant_environment()},
          {"cleared", sanitized.cleared},
          {"set", sanitized.set},
          {"restarted", sanitized.restarted}};
}

}  // namespace

std::string host_name() {
  utsname names{};
  return uname(&names) == 0 && names.nodename[0] != '\0' ? names.nodename : "unknown";
}

std::string host_id(const fs::path& root) {
  std::string id = read_host_file(root / "etc/machine-id").value_or("");
  // machine-id(5): "uninitialized" stands there until the first boot; images leave it empty.
  if (id.empty() || id == "uninitialized") id = host_name();
  const CpuTopology topology = read_cpu_topology(root);
  id += "/" + topology.model + "/" + std::to_string(topology.sockets) + "/" +
        std::to_string(topology.cores);
  return salted_hash(id);
}

Json machine_info(const fs::path& root) {
  const CpuTopology topology = read_cpu_topology(root);
  const fs::path cpu0 = root / "sys/devices/system/cpu/cpu0";
  const fs::path huge_pages = root / "sys/kernel/mm/transparent_hugepage/enabled";
  return {{"host_name", host_name()},
          {"host_id", host_id(root)},
          {"cpu", cpu_json(root, topology)},
          {"governor", text_or_null(read_host_file(cpu0 / "cpufreq/scaling_governor"))},
          {"turbo", turbo(root)},
          {"memory_bytes", number_or_null(meminfo(root, "MemTotal"), 1024)},
          {"transparent_huge_pages", text_or_null(bracketed(read_host_file(huge_pages)))},
          {"reserved_huge_pages", number_or_null(meminfo(root, "HugePages_Total"), 1)},
          {"load_average", load_average(root)},
          {"container", in_container(root)},
          {"kernel", kernel()},
          {"aslr", aslr(root)},
          {"threads", threads()},
          {"environment", environment_json()}};
}

}  // namespace trainbench
