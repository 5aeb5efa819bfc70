#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

namespace trainbench {

/// A logical CPU that is online. `core`, `socket` and `node` number what it belongs to from 0.
struct LogicalCpu {
  int id = 0;
  int core = 0;
  int socket = 0;
  int node = 0;
};

/// All caches of one level and type.
struct CpuCache {
  int level = 0;
  std::string type;       ///< "Data", "Instruction" or "Unified"
  std::size_t bytes = 0;  ///< of one instance
  int shared_by = 0;      ///< logical CPUs that share an instance
  int instances = 0;
};

/// What the kernel tells of the CPUs of this machine. Fields that it hides are empty or 0.
struct CpuTopology {
  std::string model;
  std::set<std::string> flags;  ///< /proc/cpuinfo's: "avx2", "avx512f", "amx_bf16", ...
  std::vector<LogicalCpu> cpus;
  std::vector<CpuCache> caches;
  int cores = 0;  ///< physical cores with at least one logical CPU online
  int sockets = 0;
  int nodes = 0;  ///< NUMA nodes with CPUs
  bool virtual_machine = false;
  double nominal_clock = 0;  ///< Hz, of the specification; 0 where it is hidden
  std::string clock_source;  ///< where that number comes from; "hidden" without one

  bool smt() const { return static_cast<int>(cpus.size()) > cores; }
  /// "avx512", "avx2", "avx", "sse4.2", "sse2", "sve", "neon" or "unknown".
  std::string simd() const;
  /// Bytes of all instances of the highest level together; 0 where the caches are hidden.
  std::size_t last_level_bytes() const;
};

/// Reads the topology from /proc and /sys below `root`. Never throws for missing files.
CpuTopology read_cpu_topology(const std::filesystem::path& root = "/");

/// The logical CPUs this process may run on. Where OpenMP has bound the calling thread to one place
/// it is the union of all places, which is what the process was given.
std::vector<int> allowed_cpus();

/// Lets the calling thread run on all of them. For threads that are not OpenMP's: they inherit the
/// one core to which OpenMP bound the main thread, and would compete with it.
void allow_all_cpus();

/// Physical cores that a CPU mask and a quota really allow: the quota rounded down, at least 1.
int usable_cores(const CpuTopology& topology, const std::vector<int>& allowed, double quota);

/// The same for this process, read once: the default number of threads.
int usable_cores();

}  // namespace trainbench
