#include "common/system/cgroup.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <sstream>
#include <string>

#include "common/system/host_files.h"

// Limits of control groups: the kernel's Documentation/admin-guide/cgroup-v2.rst (cpu.max,
// memory.max), scheduler/sched-bwc.rst (cpu.cfs_quota_us) and cgroup-v1/memory.rst.

namespace trainbench {
namespace {

namespace fs = std::filesystem;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

/// A mounted hierarchy of control groups.
struct CgroupMount {
  fs::path root;   ///< the cgroup that the mount shows as its top
  fs::path point;  ///< where it is mounted
  bool v2 = false;
};

bool lists(const std::string& comma_separated, const std::string& controller) {
  std::istringstream stream(comma_separated);
  for (std::string name; std::getline(stream, name, ',');) {
    if (name == controller) return true;
  }
  return false;
}

/// A line of /proc/self/mountinfo (proc(5)): "36 35 98:0 /root /point options... - type source
/// super-options". Nothing where it is no hierarchy that limits what the controller controls.
std::optional<CgroupMount> parse_mount(const std::string& line, const std::string& controller) {
  const std::size_t separator = line.find(" - ");
  if (separator == std::string::npos) return std::nullopt;
  std::istringstream before(line.substr(0, separator));
  std::istringstream after(line.substr(separator + 3));
  std::string id, parent, device, root, point, type, source, super_options;
  before >> id >> parent >> device >> root >> point;
  after >> type >> source >> super_options;
  const bool v2 = type == "cgroup2";
  if (!v2 && !(type == "cgroup" && lists(super_options, controller))) return std::nullopt;
  return CgroupMount{root, point, v2};
}

/// This process's cgroup in the v1 hierarchy of the controller or in the v2 hierarchy, from
/// /proc/self/cgroup: "4:cpu,cpuacct:/path" and "0::/path".
std::optional<fs::path> own_cgroup(const fs::path& root, bool v2, const std::string& controller) {
  const std::optional<std::string> text = read_host_file(root / "proc/self/cgroup");
  if (!text) return std::nullopt;
  for (const std::string& line : split_lines(*text)) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (v2 ? line.starts_with("0::") : lists(controllers, controller)) {
      return fs::path(line.substr(second + 1));
    }
  }
  return std::nullopt;
}

/// The cgroup's path below the mount. A container sees its own cgroup as the mount's top while
/// /proc names it from the host's top, or as "/.." outside of its namespace: then it is the top.
fs::path below_mount(const fs::path& cgroup, const fs::path& mount_root) {
  const fs::path relative = cgroup.lexically_relative(mount_root);
  const bool outside = relative.empty() || *relative.begin() == "..";
  return outside || relative == "." ? fs::path() : relative;
}

/// A positive number at the start of a file; "max", "-1" and an absent file mean no limit.
double read_limit(const fs::path& file) {
  double value = 0;
  std::istringstream(read_host_file(file).value_or("")) >> value;
  return value > 0 ? value : kNoLimit;
}

double cpus_of(const fs::path& folder, bool v2) {
  double quota = kNoLimit;
  double period = kNoLimit;
  if (v2) {
    std::istringstream(read_host_file(folder / "cpu.max").value_or("max")) >> quota >> period;
  } else {
    quota = read_limit(folder / "cpu.cfs_quota_us");
    period = read_limit(folder / "cpu.cfs_period_us");
  }
  const bool limited = quota > 0 && period > 0 && std::isfinite(quota) && std::isfinite(period);
  return limited ? quota / period : kNoLimit;
}

double memory_of(const fs::path& folder, bool v2) {
  return read_limit(folder / (v2 ? "memory.max" : "memory.limit_in_bytes"));
}

/// The least limit of this process's cgroup and all above it, in every hierarchy.
double least_limit(const fs::path& root, const std::string& controller,
                   const std::function<double(const fs::path& folder, bool v2)>& limit_of) {
  double least = kNoLimit;
  const std::string mounts = read_host_file(root / "proc/self/mountinfo").value_or("");
  for (const std::string& line : split_lines(mounts)) {
    const std::optional<CgroupMount> mount = parse_mount(line, controller);
    if (!mount) continue;
    const std::optional<fs::path> cgroup = own_cgroup(root, mount->v2, controller);
    if (!cgroup) continue;
    const fs::path top = root / mount->point.relative_path();
    for (fs::path below = below_mount(*cgroup, mount->root);; below = below.parent_path()) {
      least = std::min(least, limit_of(top / below, mount->v2));
      if (below.empty()) break;
    }
  }
  return least;
}

}  // namespace

double cpu_quota(const fs::path& root) { return least_limit(root, "cpu", cpus_of); }

std::uint64_t usable_memory(const fs::path& root) {
  const double available = static_cast<double>(meminfo(root, "MemAvailable").value_or(0)) * 1024;
  const double limit = least_limit(root, "memory", memory_of);
  const double least = available > 0 ? std::min(available, limit) : limit;
  return least == kNoLimit ? 0 : static_cast<std::uint64_t>(least);
}

}  // namespace trainbench
