#include "common/system/machine.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/system/cpu_topology.h"
#include "tests/system/fake_host.h"

namespace trainbench {
namespace {

FakeHost small_host() {
  FakeHost host;
  host.write("etc/machine-id", "0123456789abcdef0123456789abcdef\n");
  host.write("proc/cpuinfo", "processor : 0\nmodel name : Test CPU @ 2.50GHz\nflags : sse2 avx2\n");
  host.write("proc/meminfo", "MemTotal:       16000 kB\nHugePages_Total:       4\n");
  host.write("proc/loadavg", "0.50 1.25 2.00 1/100 4242\n");
  host.write("proc/self/cgroup", "0::/user.slice\n");
  host.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  host.write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  host.write("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
  return host;
}

/// Every number in a result has to be finite: nlohmann writes others as null.
void expect_round_trip(const nlohmann::ordered_json& json) {
  EXPECT_EQ(nlohmann::ordered_json::parse(json.dump()), json);
}

TEST(Machine, ReadsWhatTheHostTells) {
  const FakeHost host = small_host();
  const nlohmann::ordered_json machine = machine_info(host.root());
  EXPECT_EQ(machine.at("cpu").at("model"), "Test CPU @ 2.50GHz");
  EXPECT_EQ(machine.at("cpu").at("nominal_clock"), 2.5e9);
  EXPECT_EQ(machine.at("cpu").at("simd"), "avx2");
  EXPECT_TRUE(machine.at("cpu").at("quota").is_null());
  EXPECT_EQ(machine.at("governor"), "performance");
  EXPECT_EQ(machine.at("turbo"), false);
  EXPECT_EQ(machine.at("memory_bytes"), 16000 * 1024);
  EXPECT_EQ(machine.at("transparent_huge_pages"), "madvise");
  EXPECT_EQ(machine.at("reserved_huge_pages"), 4);
  EXPECT_EQ(machine.at("load_average"), nlohmann::ordered_json({0.5, 1.25, 2.0}));
  EXPECT_EQ(machine.at("container"), false);
  expect_round_trip(machine);
}

TEST(Machine, WhatIsHiddenIsNull) {
  const FakeHost host;
  const nlohmann::ordered_json machine = machine_info(host.root());
  for (const char* key : {"governor", "turbo", "memory_bytes", "transparent_huge_pages",
                          "reserved_huge_pages", "load_average"}) {
    EXPECT_TRUE(machine.at(key).is_null()) << key;
  }
  EXPECT_TRUE(machine.at("cpu").at("model").is_null());
  EXPECT_TRUE(machine.at("cpu").at("nominal_clock").is_null());
  EXPECT_EQ(machine.at("cpu").at("clock_source"), "hidden");
  expect_round_trip(machine);
}

TEST(Machine, TurboOfTheBoostFile) {
  FakeHost host;
  host.write("sys/devices/system/cpu/cpufreq/boost", "1\n");
  EXPECT_EQ(machine_info(host.root()).at("turbo"), true);
}

TEST(Machine, NoticesContainers) {
  const FakeHost docker = small_host();
  docker.write(".dockerenv", "");
  EXPECT_EQ(machine_info(docker.root()).at("container"), true);
  const FakeHost pod = small_host();
  pod.write("proc/self/cgroup", "0::/kubepods/besteffort/pod1\n");
  EXPECT_EQ(machine_info(pod.root()).at("container"), true);
}

TEST(Machine, ThreadMapHasEveryThreadOnAnAllowedCpu) {
  const nlohmann::ordered_json machine = machine_info();
  const auto map = machine.at("threads").at("map").get<std::vector<int>>();
  const auto allowed = machine.at("cpu").at("allowed_cpus").get<std::vector<int>>();
  EXPECT_EQ(static_cast<int>(map.size()), usable_cores());
  for (const int cpu : map) {
    EXPECT_NE(std::find(allowed.begin(), allowed.end(), cpu), allowed.end()) << cpu;
  }
  EXPECT_EQ(machine.at("threads").at("flush_to_zero"), false);
}

TEST(HostId, IsStableAndHidesTheMachineId) {
  const FakeHost host = small_host();
  const std::string id = host_id(host.root());
  EXPECT_EQ(id.size(), 16u);
  EXPECT_EQ(id, host_id(host.root()));
  EXPECT_EQ(
      id.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_"),
      std::string::npos)
      << id;
  EXPECT_EQ(std::string("0123456789abcdef0123456789abcdef").find(id), std::string::npos);
}

TEST(HostId, TellsHostsApart) {
  const FakeHost host = small_host();
  const std::string id = host_id(host.root());
  host.write("etc/machine-id", "0123456789abcdef0123456789abcdee\n");
  const std::string other_machine = host_id(host.root());
  EXPECT_NE(other_machine, id);
  host.write("proc/cpuinfo", "processor : 0\nmodel name : Other CPU\n");
  EXPECT_NE(host_id(host.root()), other_machine);
}

TEST(HostId, ExistsWithoutAMachineId) { EXPECT_EQ(host_id(FakeHost().root()).size(), 16u); }

}  // namespace
}  // namespace trainbench
