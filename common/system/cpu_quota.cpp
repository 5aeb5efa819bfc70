// CPU quotas of control groups: the kernel's Documentation/admin-guide/cgroup-v2.rst (cpu.max) and
// Documentation/scheduler/sched-bwc.rst (cpu.cfs_quota_us).
#include <algorithm>
#include <limits>
#include <optional>
#include <sstream>

#include "common/system/cpu_topology.h"
#include "common/system/host_files.h"

namespace trainbench {
namespace {

namespace fs = std::filesystem;

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

/// A mounted hierarchy that can limit CPU time.
struct CgroupMount {
  fs::path root;   ///< the cgroup that the mount shows as its top
  fs::path point;  ///< where it is mounted
  bool v2 = false;
};

bool lists_cpu_controller(const std::string& comma_separated) {
  std::istringstream stream(comma_separated);
  for (std::string name; std::getline(stream, name, ',');) {
    if (name == "cpu") return true;
  }
  return false;
}

/// A line of /proc/self/mountinfo (proc(5)): "36 35 98:0 /root /point options... - type source
/// super-options".
std::optional<CgroupMount> parse_mount(const std::string& line) {
  const std::size_t separator = line.find(" - ");
  if (separator == std::string::npos) return std::nullopt;
  std::istringstream before(line.substr(0, separator));
  std::istringstream after(line.substr(separator + 3));
  std::string id, parent, device, root, point, type, source, super_options;
  before >> id >> parent >> device >> root >> point;
  after >> type >> source >> super_options;
  const bool v2 = type == "cgroup2";
  if (!v2 && !(type == "cgroup" && lists_cpu_controller(super_options))) return std::nullopt;
  return CgroupMount{root, point, v2};
}

/// This process's cgroup in the v1 hierarchy of the cpu controller or in the v2 hierarchy, from
/// /proc/self/cgroup: "4:cpu,cpuacct:/path" and "0::/path".
std::optional<fs::path> own_cgroup(const fs::path& root, bool v2) {
  const std::optional<std::string> text = read_host_file(root / "proc/self/cgroup");
  if (!text) return std::nullopt;
  for (const std::string& line : split_lines(*text)) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (v2 ? line.starts_with("0::") : lists_cpu_controller(controllers)) {
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

/// The quota that one cgroup's files set, in CPUs.
double quota_of(const fs::path& folder, bool v2) {
  std::string quota, period;
  if (v2) {
    std::istringstream(read_host_file(folder / "cpu.max").value_or("")) >> quota >> period;
  } else {
    quota = read_host_file(folder / "cpu.cfs_quota_us").value_or("");
    period = read_host_file(folder / "cpu.cfs_period_us").value_or("");
  }
  double quota_us = 0;
  double period_us = 0;
  std::istringstream(quota) >> quota_us;  // "max" and an absent file leave 0, v1's "none" is -1
  std::istringstream(period) >> period_us;
  return quota_us > 0 && period_us > 0 ? quota_us / period_us : kNoQuota;
}

}  // namespace

double cpu_quota(const fs::path& root) {
  double least = kNoQuota;
  const std::string mounts = read_host_file(root / "proc/self/mountinfo").value_or("");
  for (const std::string& line : split_lines(mounts)) {
    const std::optional<CgroupMount> mount = parse_mount(line);
    if (!mount) continue;
    const std::optional<fs::path> cgroup = own_cgroup(root, mount->v2);
    if (!cgroup) continue;
    const fs::path top = root / mount->point.relative_path();
    for (fs::path below = below_mount(*cgroup, mount->root);; below = below.parent_path()) {
      least = std::min(least, quota_of(top / below, mount->v2));
      if (below.empty()) break;
    }
  }
  return least;
}

}  // namespace trainbench
