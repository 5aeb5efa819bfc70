#include "common/system/cgroup.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/system/fake_host.h"

namespace trainbench {
namespace {

const char* const kV2Mount =
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const char* const kV1Mount =
    "31 23 0:27 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";

FakeHost v2_host(const std::string& cgroup) {
  FakeHost host;
  host.write("proc/self/mountinfo", kV2Mount);
  host.write("proc/self/cgroup", "0::" + cgroup + "\n");
  return host;
}

FakeHost v1_host(const std::string& cgroup) {
  FakeHost host;
  host.write("proc/self/mountinfo", kV1Mount);
  host.write("proc/self/cgroup", "5:memory:/elsewhere\n4:cpu,cpuacct:" + cgroup + "\n");
  return host;
}

void set_v1_quota(const FakeHost& host, const std::string& below, const std::string& quota) {
  const std::string folder = "sys/fs/cgroup/cpu,cpuacct" + below + "/";
  host.write(folder + "cpu.cfs_quota_us", quota + "\n");
  host.write(folder + "cpu.cfs_period_us", "100000\n");
}

TEST(CpuQuota, NoCgroupsMeansNoQuota) { EXPECT_TRUE(std::isinf(cpu_quota(FakeHost().root()))); }

TEST(CpuQuota, V2ReadsCpuMax) {
  const FakeHost host = v2_host("/app");
  host.write("sys/fs/cgroup/app/cpu.max", "250000 100000\n");
  EXPECT_DOUBLE_EQ(cpu_quota(host.root()), 2.5);
}

TEST(CpuQuota, V2MaxIsNoQuota) {
  const FakeHost host = v2_host("/app");
  host.write("sys/fs/cgroup/app/cpu.max", "max 100000\n");
  EXPECT_TRUE(std::isinf(cpu_quota(host.root())));
}

TEST(CpuQuota, V2TakesTheLeastOfAllAncestors) {
  const FakeHost host = v2_host("/slice/pod/app");
  host.write("sys/fs/cgroup/slice/cpu.max", "800000 100000\n");
  host.write("sys/fs/cgroup/slice/pod/cpu.max", "300000 100000\n");
  host.write("sys/fs/cgroup/slice/pod/app/cpu.max", "max 100000\n");
  EXPECT_DOUBLE_EQ(cpu_quota(host.root()), 3.0);
}

TEST(CpuQuota, V2ContainerWithItsOwnNamespaceSeesItsQuotaAtTheTop) {
  const FakeHost host = v2_host("/");
  host.write("sys/fs/cgroup/cpu.max", "150000 50000\n");
  EXPECT_DOUBLE_EQ(cpu_quota(host.root()), 3.0);
}

TEST(CpuQuota, CgroupOutsideOfTheNamespaceFallsBackToTheTop) {
  const FakeHost host = v2_host("/../other");
  host.write("sys/fs/cgroup/cpu.max", "200000 100000\n");
  EXPECT_DOUBLE_EQ(cpu_quota(host.root()), 2.0);
}

TEST(CpuQuota, V1ReadsQuotaAndPeriodOfAllAncestors) {
  const FakeHost host = v1_host("/docker/abc");
  set_v1_quota(host, "", "-1");
  set_v1_quota(host, "/docker", "400000");
  set_v1_quota(host, "/docker/abc", "150000");
  EXPECT_DOUBLE_EQ(cpu_quota(host.root()), 1.5);
}

TEST(CpuQuota, V1MinusOneIsNoQuota) {
  const FakeHost host = v1_host("/");
  set_v1_quota(host, "", "-1");
  EXPECT_TRUE(std::isinf(cpu_quota(host.root())));
}

TEST(CpuQuota, V1QuotaWithoutAPeriodIsNoQuota) {
  const FakeHost host = v1_host("/");
  host.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
  EXPECT_TRUE(std::isinf(cpu_quota(host.root())));
}

TEST(CpuQuota, V1MountThatShowsOnlyTheContainer) {
  FakeHost host = v1_host("/docker/abc/inner");
  host.write(
      "proc/self/mountinfo",
      "31 23 0:27 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n");
  set_v1_quota(host, "", "600000");
  set_v1_quota(host, "/inner", "200000");
  EXPECT_DOUBLE_EQ(cpu_quota(host.root()), 2.0);
}

TEST(CpuQuota, HybridTakesTheLeastOfBothHierarchies) {
  FakeHost host;
  host.write(
      "proc/self/mountinfo",
      std::string(kV1Mount) + "32 23 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  host.write("proc/self/cgroup", "4:cpu,cpuacct:/job\n0::/job\n");
  set_v1_quota(host, "/job", "500000");
  host.write("sys/fs/cgroup/unified/job/cpu.max", "400000 100000\n");
  EXPECT_DOUBLE_EQ(cpu_quota(host.root()), 4.0);
}

TEST(CpuQuota, OtherControllersAreNotTheCpuController) {
  FakeHost host;
  host.write("proc/self/mountinfo",
             "33 23 0:29 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n");
  host.write("proc/self/cgroup", "3:cpuset:/\n");
  host.write("sys/fs/cgroup/cpuset/cpu.cfs_quota_us", "100000\n");
  host.write("sys/fs/cgroup/cpuset/cpu.cfs_period_us", "100000\n");
  EXPECT_TRUE(std::isinf(cpu_quota(host.root())));
}

TEST(CpuQuota, DamagedFilesAreNoQuota) {
  const FakeHost host = v2_host("/app");
  host.write("proc/self/mountinfo", std::string("broken line\n") + kV2Mount);
  host.write("sys/fs/cgroup/app/cpu.max", "100000\n");
  EXPECT_TRUE(std::isinf(cpu_quota(host.root())));
}

TEST(UsableMemory, IsWhatTheMachineHasWithoutALimit) {
  const FakeHost host = v2_host("/app");
  host.write("proc/meminfo", "MemTotal: 4000 kB\nMemAvailable: 3000 kB\n");
  host.write("sys/fs/cgroup/app/memory.max", "max\n");
  EXPECT_EQ(usable_memory(host.root()), 3000u * 1024);
}

TEST(UsableMemory, IsBoundedByTheLeastLimit) {
  const FakeHost v2 = v2_host("/pod/app");
  v2.write("proc/meminfo", "MemAvailable: 3000 kB\n");
  v2.write("sys/fs/cgroup/pod/memory.max", "1000000\n");
  v2.write("sys/fs/cgroup/pod/app/memory.max", "2000000\n");
  EXPECT_EQ(usable_memory(v2.root()), 1000000u);

  const FakeHost v1;
  v1.write("proc/self/mountinfo",
           "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  v1.write("proc/self/cgroup", "4:memory:/app\n");
  v1.write("proc/meminfo", "MemAvailable: 3000 kB\n");
  v1.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  v1.write("sys/fs/cgroup/memory/app/memory.limit_in_bytes", "500000\n");
  EXPECT_EQ(usable_memory(v1.root()), 500000u);
}

TEST(UsableMemory, IsUnknownWhereNothingTells) { EXPECT_EQ(usable_memory(FakeHost().root()), 0u); }

}  // namespace
}  // namespace trainbench
