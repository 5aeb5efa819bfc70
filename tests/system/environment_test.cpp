#include "common/system/environment.h"

#include <gtest/gtest.h>
#include <stdio.h>

#include <nlohmann/json.hpp>
#include <string>

namespace trainbench {
namespace {

using Variables = std::map<std::string, std::string>;

const Variables kBindings = {{"OMP_PLACES", "cores"}, {"OMP_PROC_BIND", "close"}};

/// Runs the probe through a shell with `environment` in front; fails the test where it fails.
nlohmann::json probe(const std::string& environment, const std::string& arguments = "") {
  const std::string clean = "env -u OMP_PLACES -u OMP_PROC_BIND -u NVIDIA_TF32_OVERRIDE ";
  const std::string command =
      clean + environment + " " TRAINBENCH_ENVIRONMENT_PROBE " " + arguments;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("popen");
  std::string output;
  char buffer[4096];
  while (fgets(buffer, sizeof(buffer), pipe) != nullptr) output += buffer;
  EXPECT_EQ(pclose(pipe), 0) << command;
  return nlohmann::json::parse(output);
}

TEST(Environment, PlansToClearWhatChangesArithmetic) {
  const SanitizedEnvironment plan = plan_environment(
      {"PATH=/bin", "NVIDIA_TF32_OVERRIDE=1", "CUBLAS_EMULATE_SINGLE_PRECISION=1",
       "CUBLAS_EMULATE_DOUBLE_PRECISION=0", "CUBLAS_EMULATION_STRATEGY=eager",
       "CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT=20", "ONEDNN_DEFAULT_FPMATH_MODE=BF16",
       "DNNL_DEFAULT_FPMATH_MODE=any", "MKL_BLAS_COMPUTE_MODE=FLOAT_TO_BF16",
       "OPENBLAS_CORETYPE=Haswell", "CUBLAS_WORKSPACE_CONFIG=:4096:8", "MKL_CBWR=AVX2"},
      false);
  const Variables expected = {{"NVIDIA_TF32_OVERRIDE", "1"},
                              {"CUBLAS_EMULATE_SINGLE_PRECISION", "1"},
                              {"CUBLAS_EMULATE_DOUBLE_PRECISION", "0"},
                              {"CUBLAS_EMULATION_STRATEGY", "eager"},
                              {"CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT", "20"},
                              {"ONEDNN_DEFAULT_FPMATH_MODE", "BF16"},
                              {"DNNL_DEFAULT_FPMATH_MODE", "any"},
                              {"MKL_BLAS_COMPUTE_MODE", "FLOAT_TO_BF16"}};
  EXPECT_EQ(plan.cleared, expected);
  EXPECT_TRUE(plan.set.empty());
}

TEST(Environment, BindsThreadsUnlessToldOtherwise) {
  EXPECT_EQ(plan_environment({}, true).set, kBindings);
  EXPECT_TRUE(plan_environment({}, false).set.empty());
  for (const char* own : {"OMP_PROC_BIND=false", "OMP_PLACES=sockets", "GOMP_CPU_AFFINITY=0-1",
                          "KMP_AFFINITY=scatter"}) {
    EXPECT_TRUE(plan_environment({own}, true).set.empty()) << own;
  }
}

TEST(Environment, RestartsOnceSoThatLoadTimeReadersSeeItClean) {
  const nlohmann::json seen = probe("NVIDIA_TF32_OVERRIDE=1", "run 'two words' ''");
  EXPECT_EQ(seen.at("at_load"), "absent");
  EXPECT_EQ(seen.at("cleared"), nlohmann::json(Variables{{"NVIDIA_TF32_OVERRIDE", "1"}}));
  EXPECT_EQ(seen.at("restarted"), true);
  EXPECT_FALSE(seen.at("relevant").contains("NVIDIA_TF32_OVERRIDE"));
  EXPECT_EQ(seen.at("arguments"), nlohmann::json({"run", "two words", ""}));
}

TEST(Environment, NothingToDoMeansNoRestart) {
  const nlohmann::json seen = probe("OMP_PROC_BIND=false");
  EXPECT_EQ(seen.at("restarted"), false);
  EXPECT_EQ(seen.at("set"), nlohmann::json(Variables{}));
  EXPECT_EQ(seen.at("relevant").at("OMP_PROC_BIND"), "false");
}

TEST(Environment, AnInheritedGuardDoesNotHideTheVariables) {
  for (const char* guard : {R"('{"pid":1,"cleared":{},"set":{}}')", "'not JSON'", "''", "'[]'"}) {
    const nlohmann::json seen =
        probe("NVIDIA_TF32_OVERRIDE=0 TRAINBENCH_RESTARTED=" + std::string(guard));
    EXPECT_EQ(seen.at("at_load"), "absent") << guard;
    EXPECT_EQ(seen.at("cleared").at("NVIDIA_TF32_OVERRIDE"), "0") << guard;
  }
}

TEST(Environment, ValuesThatAreNotTextSurviveTheRestart) {
  const nlohmann::json seen = probe("NVIDIA_TF32_OVERRIDE=\"$(printf '\\377\"\\\\')\"");
  EXPECT_EQ(seen.at("at_load"), "absent");
  EXPECT_TRUE(seen.at("cleared").contains("NVIDIA_TF32_OVERRIDE"));
}

TEST(Environment, BoundMainThreadStillCountsAllCores) {
  const nlohmann::json bound = probe("OMP_PLACES=cores OMP_PROC_BIND=close");
  if (!bound.at("bound").get<bool>()) GTEST_SKIP() << "this OpenMP runtime does not bind here";
  const nlohmann::json free = probe("OMP_PROC_BIND=false");
  EXPECT_EQ(bound.at("usable_cores"), free.at("usable_cores"));
  EXPECT_EQ(bound.at("loader_mask"), bound.at("allowed"));
}

TEST(Environment, RelevantVariablesHoldNoSecrets) {
  ASSERT_EQ(setenv("NVIDIA_API_KEY", "secret", 1), 0);
  ASSERT_EQ(setenv("OMP_SCHEDULE", "static", 1), 0);
  const Variables relevant = relevant_environment();
  EXPECT_FALSE(relevant.contains("NVIDIA_API_KEY"));
  EXPECT_EQ(relevant.at("OMP_SCHEDULE"), "static");
}

}  // namespace
}  // namespace trainbench
