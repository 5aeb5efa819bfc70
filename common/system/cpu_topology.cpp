#include "common/system/cpu_topology.h"

#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>
#include <utility>

#include "common/system/cgroup.h"
#include "common/system/host_files.h"

namespace trainbench {
namespace {

namespace fs = std::filesystem;

int read_int(const fs::path& path, int fallback) {
  int value = fallback;
  if (const auto text = read_host_file(path)) std::istringstream(*text) >> value;
  return value;
}

/// One processor's block of /proc/cpuinfo.
using CpuInfo = std::map<std::string, std::string>;

std::vector<CpuInfo> read_cpuinfo(const fs::path& root) {
  std::vector<CpuInfo> blocks;
  for (const std::string& line : split_lines(read_host_file(root / "proc/cpuinfo").value_or(""))) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::string key = line.substr(0, line.find_last_not_of(" \t", colon - 1) + 1);
    const std::size_t start = line.find_first_not_of(" \t", colon + 1);
    if (key == "processor") blocks.emplace_back();
    if (blocks.empty()) continue;
    blocks.back()[key] = start == std::string::npos ? "" : line.substr(start);
  }
  return blocks;
}

std::string value_of(const CpuInfo& block, const char* key) {
  const auto found = block.find(key);
  return found == block.end() ? "" : found->second;
}

/// The logical CPUs online: of sysfs, else of /proc/cpuinfo.
std::vector<int> online_cpus(const fs::path& root, const std::vector<CpuInfo>& blocks) {
  if (const auto list = read_host_file(root / "sys/devices/system/cpu/online")) {
    if (std::vector<int> cpus = parse_cpu_list(*list); !cpus.empty()) return cpus;
  }
  std::vector<int> cpus;
  for (const CpuInfo& block : blocks) {
    for (const int cpu : parse_cpu_list(value_of(block, "processor"))) cpus.push_back(cpu);
  }
  return cpus;
}

/// What tells a physical core from all others: the list of its logical CPUs; else socket and core
/// number of /proc/cpuinfo; else the CPU stands for itself.
std::string core_key(const fs::path& folder, const CpuInfo& block, int cpu) {
  if (const auto siblings = read_host_file(folder / "topology/thread_siblings_list")) {
    if (!siblings->empty()) return *siblings;
  }
  const std::string core = value_of(block, "core id");
  if (!core.empty()) return value_of(block, "physical id") + "/" + core;
  return "cpu " + std::to_string(cpu);
}

std::map<int, int> read_node_of_cpu(const fs::path& root) {
  std::map<int, int> node_of;
  const fs::path folder = root / "sys/devices/system/node";
  for (const int node : parse_cpu_list(read_host_file(folder / "online").value_or(""))) {
    const fs::path list = folder / ("node" + std::to_string(node)) / "cpulist";
    for (const int cpu : parse_cpu_list(read_host_file(list).value_or(""))) node_of[cpu] = node;
  }
  return node_of;
}

/// Numbers distinct keys in the order in which they appear.
template <class Key>
class Numbering {
 public:
  int operator()(const Key& key) {
    return numbers_.emplace(key, static_cast<int>(numbers_.size())).first->second;
  }
  int count() const { return static_cast<int>(numbers_.size()); }

 private:
  std::map<Key, int> numbers_;
};

void read_cpus(const fs::path& root, const std::vector<CpuInfo>& blocks, CpuTopology& topology) {
  std::map<int, CpuInfo> block_of;
  for (const CpuInfo& block : blocks) {
    for (const int cpu : parse_cpu_list(value_of(block, "processor"))) block_of[cpu] = block;
  }
  const std::map<int, int> node_of = read_node_of_cpu(root);
  Numbering<std::string> cores;
  Numbering<int> sockets;
  Numbering<int> nodes;
  for (const int cpu : online_cpus(root, blocks)) {
    const fs::path folder = root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu));
    const CpuInfo& block = block_of[cpu];
    int socket = 0;
    std::istringstream(value_of(block, "physical id")) >> socket;
    socket = read_int(folder / "topology/physical_package_id", socket);
    const auto node = node_of.find(cpu);
    topology.cpus.push_back({cpu, cores(core_key(folder, block, cpu)), sockets(socket),
                             nodes(node == node_of.end() ? 0 : node->second)});
  }
  topology.cores = cores.count();
  topology.sockets = sockets.count();
  topology.nodes = nodes.count();
}

/// "32K", "1024K", "32M" as sysfs writes cache sizes.
std::size_t parse_cache_size(const std::string& text) {
  std::size_t size = 0;
  char unit = 'B';
  std::istringstream(text) >> size >> unit;
  return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : size;
}

void read_caches(const fs::path& root, CpuTopology& topology) {
  struct Found {
    CpuCache cache;
    std::set<std::string> owners;
  };
  std::map<std::pair<int, std::string>, Found> by_kind;
  for (const LogicalCpu& cpu : topology.cpus) {
    const fs::path folder =
        root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu.id)) / "cache";
    for (int index = 0;; ++index) {
      const fs::path entry = folder / ("index" + std::to_string(index));
      const int level = read_int(entry / "level", 0);
      if (level <= 0) break;
      const std::string type = read_host_file(entry / "type").value_or("");
      const std::string owners = read_host_file(entry / "shared_cpu_list").value_or("");
      Found& found = by_kind[{level, type}];
      found.owners.insert(owners.empty() ? std::to_string(cpu.id) : owners);
      const int shared_by = std::max<int>(1, static_cast<int>(parse_cpu_list(owners).size()));
      found.cache = {level, type, parse_cache_size(read_host_file(entry / "size").value_or("")),
                     std::max(found.cache.shared_by, shared_by),
                     static_cast<int>(found.owners.size())};
    }
  }
  for (const auto& [kind, found] : by_kind) topology.caches.push_back(found.cache);
}

/// The clock of the specification. "cpu MHz" of /proc/cpuinfo is the clock of the moment, so that
/// it is no source.
void read_clock(const fs::path& root, CpuTopology& topology) {
  const fs::path cpu0 = root / "sys/devices/system/cpu/cpu0";
  struct Source {
    const char* file;
    double unit;
  };
  for (const Source& source :
       {Source{"cpufreq/base_frequency", 1e3}, Source{"acpi_cppc/nominal_freq", 1e6}}) {
    const int value = read_int(cpu0 / source.file, 0);
    if (value <= 0) continue;
    topology.nominal_clock = value * source.unit;
    topology.clock_source = source.file;
    return;
  }
  double ghz = 0;
  if (const std::size_t at = topology.model.find("@ "); at != std::string::npos) {
    std::istringstream(topology.model.substr(at + 2)) >> ghz;
  }
  topology.nominal_clock = ghz * 1e9;
  topology.clock_source = ghz > 0 ? "model name" : "hidden";
}

std::vector<int> openmp_places() {
  std::vector<int> cpus;
  for (int place = 0; place < omp_get_num_places(); ++place) {
    std::vector<int> ids(static_cast<std::size_t>(omp_get_place_num_procs(place)));
    omp_get_place_proc_ids(place, ids.data());
    cpus.insert(cpus.end(), ids.begin(), ids.end());
  }
  return cpus;
}

}  // namespace

std::string CpuTopology::simd() const {
  struct Level {
    const char* flag;
    const char* name;
  };
  for (const Level& level : {Level{"avx512f", "avx512"}, Level{"avx2", "avx2"}, Level{"avx", "avx"},
                             Level{"sse4_2", "sse4.2"}, Level{"sse2", "sse2"}, Level{"sve", "sve"},
                             Level{"asimd", "neon"}}) {
    if (flags.contains(level.flag)) return level.name;
  }
  return "unknown";
}

std::size_t CpuTopology::last_level_bytes() const {
  int highest = 0;
  std::size_t bytes = 0;
  for (const CpuCache& cache : caches) {
    if (cache.type == "Instruction" || cache.level < highest) continue;
    highest = cache.level;
    bytes = cache.bytes * static_cast<std::size_t>(cache.instances);
  }
  return bytes;
}

CpuTopology read_cpu_topology(const fs::path& root) {
  CpuTopology topology;
  const std::vector<CpuInfo> blocks = read_cpuinfo(root);
  if (!blocks.empty()) {
    topology.model = value_of(blocks.front(), "model name");
    std::istringstream flags(value_of(blocks.front(), "flags") + " " +
                             value_of(blocks.front(), "Features"));
    for (std::string flag; flags >> flag;) topology.flags.insert(flag);
  }
  read_cpus(root, blocks, topology);
  read_caches(root, topology);
  read_clock(root, topology);
  topology.virtual_machine =
      topology.flags.contains("hypervisor") || fs::exists(root / "sys/hypervisor/type");
  return topology;
}

std::vector<int> allowed_cpus() {
  if (omp_get_proc_bind() != omp_proc_bind_false) {
    if (std::vector<int> cpus = openmp_places(); !cpus.empty()) return cpus;
  }
  // The kernel refuses a set smaller than its own, whose size it does not tell.
  for (int size = CPU_SETSIZE; size <= (1 << 20); size *= 2) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(size));
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(size));
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    std::vector<int> cpus;
    for (int cpu = 0; known && cpu < size; ++cpu) {
      if (CPU_ISSET_S(static_cast<std::size_t>(cpu), bytes, set)) cpus.push_back(cpu);
    }
    CPU_FREE(set);
    if (known) return cpus;
  }
  return {};
}

void allow_all_cpus() {
  const std::vector<int> allowed = allowed_cpus();
  if (allowed.empty()) return;
  const auto size = static_cast<std::size_t>(*std::max_element(allowed.begin(), allowed.end())) + 1;
  cpu_set_t* set = CPU_ALLOC(size);
  if (set == nullptr) return;
  const std::size_t bytes = CPU_ALLOC_SIZE(size);
  CPU_ZERO_S(bytes, set);
  for (const int cpu : allowed) CPU_SET_S(static_cast<std::size_t>(cpu), bytes, set);
  sched_setaffinity(0, bytes, set);  // where it is refused the thread keeps what it had
  CPU_FREE(set);
}

int usable_cores(const CpuTopology& topology, const std::vector<int>& allowed, double quota) {
  const std::set<int> mask(allowed.begin(), allowed.end());
  std::set<int> cores;
  for (const LogicalCpu& cpu : topology.cpus) {
    if (mask.contains(cpu.id)) cores.insert(cpu.core);
  }
  // A machine that hides its CPUs still says where this process may run.
  const std::size_t allowed_cores = topology.cpus.empty() ? mask.size() : cores.size();
  return std::max(
      1, static_cast<int>(std::min(static_cast<double>(allowed_cores), std::floor(quota))));
}

int usable_cores() {
  static const int cores = usable_cores(read_cpu_topology(), allowed_cpus(), cpu_quota());
  return cores;
}

}  // namespace trainbench
