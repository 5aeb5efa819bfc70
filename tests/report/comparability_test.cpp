#include "common/report/comparability.h"

#include <gtest/gtest.h>

#include "common/config/json_file.h"

namespace trainbench {
namespace {

Report ours() {
  Report report;
  report.context = Json::parse(R"({
    "build": {"commit": "a", "build_type": "Release", "compiler": "GNU 12.2.0", "flags": "-O3",
              "arch": "native", "sanitizers": "", "cuda_compiler": "13.0"},
    "machine": {"host_id": "h1", "cpu": {"usable_cores": 2}},
    "devices": [{"kind": "cpu", "name": "C", "threads": 2},
                {"kind": "gpu", "name": "G", "cuda": {"driver": "13.0", "runtime": "12.8"},
                 "state": {"before": {"driver": "570.1", "uuid_hash": "u1"}}}],
    "cpu_providers": {"onednn": "2.6.3"},
    "settings": {"cpu_provider": "auto", "gpu_provider": "auto",
                 "command": ["trainbench", "run"]}})");
  return report;
}

std::string between(const Report& a, const Report& b) { return differences({&a, &b}); }

TEST(Comparability, EqualRunsOfTwoCommitsDifferInNothing) {
  Report other = ours();
  other.context["build"]["commit"] = "b";
  other.context["settings"]["command"] = {"elsewhere/trainbench", "run"};
  EXPECT_EQ(between(ours(), other), "");
}

TEST(Comparability, EachConditionIsNamedWithBothValues) {
  const std::vector<std::pair<std::string, std::string>> changed{
      {"/machine/host_id", "machine (host id) (\"h1\" and \"x\")"},
      {"/machine/cpu/usable_cores", "usable CPU cores (\"2\" and \"x\")"},
      {"/build/build_type", "build type (\"Release\" and \"x\")"},
      {"/build/compiler", "compiler (\"GNU 12.2.0\" and \"x\")"},
      {"/build/flags", "compiler flags (\"-O3\" and \"x\")"},
      {"/build/arch", "target architecture (\"native\" and \"x\")"},
      {"/build/sanitizers", "sanitizers (\"\" and \"x\")"},
      {"/build/cuda_compiler", "CUDA compiler (\"13.0\" and \"x\")"},
      {"/devices/0/threads", "CPU threads (\"2\" and \"x\")"},
      {"/devices/1/name", "GPU name (\"G\" and \"x\")"},
      {"/devices/1/state/before/uuid_hash", "GPU UUID (hash) (\"u1\" and \"x\")"},
      {"/devices/1/state/before/driver", "GPU driver (\"570.1\" and \"x\")"},
      {"/devices/1/cuda/runtime", "GPU CUDA runtime (\"12.8\" and \"x\")"},
      {"/cpu_providers/onednn", "library onednn (\"2.6.3\" and \"x\")"},
      {"/settings/cpu_provider", "--cpu-provider (\"auto\" and \"x\")"},
      {"/settings/gpu_provider", "--gpu-provider (\"auto\" and \"x\")"}};
  for (const auto& [path, said] : changed) {
    Report other = ours();
    other.context[Json::json_pointer(path)] = "x";
    EXPECT_EQ(between(ours(), other), said);
  }
}

TEST(Comparability, EverythingThatDiffersIsNamedOnce) {
  Report other = ours();
  other.context["build"]["compiler"] = "Clang";
  other.context["build"]["flags"] = "-O2";
  Report third = other;
  third.context["build"]["flags"] = "-O1";
  const Report first = ours();
  EXPECT_EQ(differences({&first, &other, &third}),
            "compiler (\"GNU 12.2.0\" and \"Clang\"), compiler flags (\"-O3\" and \"-O2\")");
}

TEST(Comparability, ADeviceThatOnlyOneMachineHasIsNoDifference) {
  Report other = ours();
  other.context["devices"][1] = {{"kind", "gpu"}, {"missing", "no driver"}};
  EXPECT_EQ(between(ours(), other), "");
}

TEST(Comparability, OtherProgramsAreToldApartByHost) {
  Report one;
  one.google_context = {{"host_name", "a"}, {"num_cpus", 4}, {"mhz_per_cpu", 2500}};
  Report two = one;
  EXPECT_EQ(between(one, two), "");
  two.google_context["mhz_per_cpu"] = 2600;
  EXPECT_EQ(between(one, two), "");
  two.google_context["host_name"] = "b";
  EXPECT_EQ(between(one, two), "machine (host name) (\"a\" and \"b\")");
  EXPECT_NE(between(one, ours()).find("program (\"another\" and \"trainbench\")"),
            std::string::npos);
}

TEST(Comparability, DebugAndSanitizedBuildsAreUnfit) {
  EXPECT_EQ(unfit_build(ours()), "");
  Report debug = ours();
  debug.context["build"]["build_type"] = "Debug";
  EXPECT_EQ(unfit_build(debug), "a debug build");
  Report sanitized = ours();
  sanitized.context["build"]["sanitizers"] = "address";
  EXPECT_EQ(unfit_build(sanitized), "a build with sanitizers (address)");
  Report foreign;
  foreign.google_context = {{"library_build_type", "debug"}};
  EXPECT_EQ(unfit_build(foreign), "");
}

}  // namespace
}  // namespace trainbench
