#include "common/system/cpu_topology.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>

#include <limits>

#include "common/system/cgroup.h"
#include "tests/system/fake_host.h"

namespace trainbench {
namespace {

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

/// Two sockets of two cores with two hardware threads each, numbered as Linux does: first one
/// thread of every core, then the others. CPU 7 is offline.
FakeHost two_sockets() {
  FakeHost host;
  const std::string cpus = "sys/devices/system/cpu/";
  host.write(cpus + "online", "0-6\n");
  std::string cpuinfo;
  for (int cpu = 0; cpu < 8; ++cpu) {
    const int core = cpu % 4;
    const std::string folder = cpus + "cpu" + std::to_string(cpu) + "/";
    const std::string siblings =
        core == 3 ? "3" : std::to_string(core) + "," + std::to_string(core + 4);
    if (cpu < 7) {
      host.write(folder + "topology/thread_siblings_list", siblings + "\n");
      host.write(folder + "topology/physical_package_id", core < 2 ? "0\n" : "1\n");
      const std::string l3 = core < 2 ? "0-1,4-5" : "2-3,6";
      host.write_cache(folder, 0, "1", "Data", "48K", siblings);
      host.write_cache(folder, 1, "1", "Instruction", "32K", siblings);
      host.write_cache(folder, 2, "2", "Unified", "2048K", siblings);
      host.write_cache(folder, 3, "3", "Unified", "36M", l3);
      cpuinfo += "processor\t: " + std::to_string(cpu) +
                 "\nmodel name\t: Intel(R) Xeon(R) Gold 6430 @ 2.10GHz\ncpu MHz\t\t: 3400.0\n"
                 "flags\t\t: fpu sse2 sse4_2 avx avx2 fma avx512f amx_bf16\n\n";
    }
  }
  host.write("proc/cpuinfo", cpuinfo);
  host.write("sys/devices/system/node/online", "0-1\n");
  host.write("sys/devices/system/node/node0/cpulist", "0-1,4-5\n");
  host.write("sys/devices/system/node/node1/cpulist", "2-3,6\n");
  return host;
}

TEST(CpuTopology, CountsCoresSocketsNodesAndOfflineCpus) {
  const FakeHost host = two_sockets();
  const CpuTopology topology = read_cpu_topology(host.root());
  EXPECT_EQ(topology.cpus.size(), 7u);
  EXPECT_EQ(topology.cores, 4);
  EXPECT_EQ(topology.sockets, 2);
  EXPECT_EQ(topology.nodes, 2);
  EXPECT_TRUE(topology.smt());
  EXPECT_EQ(topology.cpus[0].core, topology.cpus[4].core);
  EXPECT_NE(topology.cpus[0].core, topology.cpus[1].core);
  EXPECT_EQ(topology.cpus[2].socket, 1);
  EXPECT_EQ(topology.cpus[6].node, 1);
}

TEST(CpuTopology, ReadsModelFlagsAndNominalClock) {
  const FakeHost host = two_sockets();
  CpuTopology topology = read_cpu_topology(host.root());
  EXPECT_EQ(topology.model, "Intel(R) Xeon(R) Gold 6430 @ 2.10GHz");
  EXPECT_EQ(topology.simd(), "avx512");
  EXPECT_TRUE(topology.flags.contains("amx_bf16"));
  EXPECT_FALSE(topology.virtual_machine);
  EXPECT_NEAR(topology.nominal_clock, 2.1e9, 1);
  EXPECT_EQ(topology.clock_source, "model name");

  host.write("sys/devices/system/cpu/cpu0/cpufreq/base_frequency", "2000000\n");
  topology = read_cpu_topology(host.root());
  EXPECT_NEAR(topology.nominal_clock, 2.0e9, 1);
  EXPECT_EQ(topology.clock_source, "cpufreq/base_frequency");
}

TEST(CpuTopology, VirtualMachineHidesTheClock) {
  FakeHost host;
  host.write("proc/cpuinfo",
             "processor : 0\nmodel name : AMD EPYC\ncpu MHz : 2596.130\nflags : sse2 hypervisor\n");
  const CpuTopology topology = read_cpu_topology(host.root());
  EXPECT_TRUE(topology.virtual_machine);
  EXPECT_EQ(topology.nominal_clock, 0);
  EXPECT_EQ(topology.clock_source, "hidden");
  EXPECT_EQ(topology.simd(), "sse2");
}

TEST(CpuTopology, GroupsCachesByLevelAndType) {
  const FakeHost host = two_sockets();
  const CpuTopology topology = read_cpu_topology(host.root());
  ASSERT_EQ(topology.caches.size(), 4u);
  const CpuCache& l2 = topology.caches[2];
  EXPECT_EQ(l2.level, 2);
  EXPECT_EQ(l2.bytes, 2048u << 10);
  EXPECT_EQ(l2.instances, 4);
  EXPECT_EQ(l2.shared_by, 2);
  const CpuCache& l3 = topology.caches[3];
  EXPECT_EQ(l3.bytes, 36u << 20);
  EXPECT_EQ(l3.instances, 2);
  EXPECT_EQ(l3.shared_by, 4);
  EXPECT_EQ(topology.last_level_bytes(), 72u << 20);
}

TEST(CpuTopology, LastLevelIsNeverAnInstructionCache) {
  FakeHost host;
  host.write("sys/devices/system/cpu/online", "0\n");
  const std::string cpu0 = "sys/devices/system/cpu/cpu0/";
  host.write_cache(cpu0, 0, "1", "Data", "32K", "0");
  host.write_cache(cpu0, 1, "1", "Instruction", "64K", "0");
  EXPECT_EQ(read_cpu_topology(host.root()).last_level_bytes(), 32u << 10);
}

TEST(CpuTopology, FallsBackToCpuinfoWithoutSysfs) {
  FakeHost host;
  std::string cpuinfo;
  for (int cpu = 0; cpu < 4; ++cpu) {
    cpuinfo += "processor : " + std::to_string(cpu) + "\nphysical id : " + std::to_string(cpu / 2) +
               "\ncore id : 0\n\n";
  }
  host.write("proc/cpuinfo", cpuinfo);
  const CpuTopology topology = read_cpu_topology(host.root());
  EXPECT_EQ(topology.cpus.size(), 4u);
  EXPECT_EQ(topology.cores, 2);
  EXPECT_EQ(topology.sockets, 2);
}

TEST(CpuTopology, MissingFilesLeaveAnEmptyTopology) {
  const FakeHost host;
  const CpuTopology topology = read_cpu_topology(host.root());
  EXPECT_TRUE(topology.cpus.empty());
  EXPECT_EQ(topology.last_level_bytes(), 0u);
  EXPECT_EQ(topology.simd(), "unknown");
  EXPECT_EQ(usable_cores(topology, {3, 4}, kNoQuota), 2);
  EXPECT_EQ(usable_cores(topology, {}, kNoQuota), 1);
}

TEST(UsableCores, CountsSiblingsOnceAndRespectsTheMask) {
  const FakeHost host = two_sockets();
  const CpuTopology topology = read_cpu_topology(host.root());
  EXPECT_EQ(usable_cores(topology, {0, 1, 2, 3, 4, 5, 6, 7}, kNoQuota), 4);
  EXPECT_EQ(usable_cores(topology, {0, 4}, kNoQuota), 1);
  EXPECT_EQ(usable_cores(topology, {0, 5}, kNoQuota), 2);
  EXPECT_EQ(usable_cores(topology, {7}, kNoQuota), 1);
}

TEST(UsableCores, RoundsTheQuotaDownToAtLeastOne) {
  const FakeHost host = two_sockets();
  const CpuTopology topology = read_cpu_topology(host.root());
  const std::vector<int> all = {0, 1, 2, 3, 4, 5, 6};
  EXPECT_EQ(usable_cores(topology, all, 2.99), 2);
  EXPECT_EQ(usable_cores(topology, all, 0.5), 1);
  EXPECT_EQ(usable_cores(topology, all, 64), 4);
}

TEST(UsableCores, OfThisProcessFollowsItsMask) {
  const CpuTopology topology = read_cpu_topology();
  const std::vector<int> allowed = allowed_cpus();
  ASSERT_FALSE(allowed.empty());
  EXPECT_GE(usable_cores(), 1);
  EXPECT_LE(usable_cores(), static_cast<int>(allowed.size()));
  if (omp_get_proc_bind() != omp_proc_bind_false) {
    GTEST_SKIP() << "OpenMP's places stand for the mask";
  }
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(allowed.back()), &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(allowed_cpus(), std::vector<int>{allowed.back()});
  EXPECT_EQ(usable_cores(topology, allowed_cpus(), cpu_quota()), 1);
  ASSERT_EQ(sched_setaffinity(0, sizeof(before), &before), 0);
}

}  // namespace
}  // namespace trainbench
