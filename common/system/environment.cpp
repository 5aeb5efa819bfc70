#include "common/system/environment.h"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string_view>

#include "common/system/cgroup.h"

namespace trainbench {
namespace {

/// Holds the record while the program starts again, as JSON with the process's id. The id survives
/// execve() and no child has it: a variable that was inherited is recognized, and a process that
/// finds its own does not start again.
constexpr const char* kGuard = "TRAINBENCH_RESTARTED";

/// Prefixes of variables that let a library compute in another precision than it was asked for.
/// Variables that only choose between kernels of the same precision (OPENBLAS_CORETYPE,
/// ONEDNN_MAX_CPU_ISA, MKL_CBWR, CUBLAS_WORKSPACE_CONFIG) stay and are recorded.
constexpr std::array<std::string_view, 6> kArithmetic{
    "NVIDIA_TF32_OVERRIDE",         // cuBLAS and cuDNN: fp32 becomes tf32 or the reverse
    "CUBLAS_EMULAT",                // cuBLAS 13: CUBLAS_EMULATE_*, CUBLAS_EMULATION_*
    "CUBLAS_FIXEDPOINT_EMULATION",  // and the mantissa bits of its fp64 emulation
    "ONEDNN_DEFAULT_FPMATH_MODE",   // oneDNN: implicit conversion of fp32 to bf16, f16, tf32
    "DNNL_DEFAULT_FPMATH_MODE",
    "MKL_BLAS_COMPUTE_MODE",  // oneMKL: the same for its gemm
};

/// libgomp reads these when it is loaded. Threads that stay on their cores keep their caches and
/// the memory that they touched first. OMP_WAIT_POLICY stays libgomp's own: a training step
/// measured no difference between its default, active and passive.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kBinding{
    {{"OMP_PLACES", "cores"}, {"OMP_PROC_BIND", "close"}}};

constexpr std::array<std::string_view, 20> kRelevant{"OMP_",
                                                     "GOMP_",
                                                     "KMP_",
                                                     "OPENBLAS_",
                                                     "GOTO_",
                                                     "BLIS_",
                                                     "MKL_",
                                                     "DNNL_",
                                                     "ONEDNN_",
                                                     "CUDA_",
                                                     "CUBLAS",
                                                     "CUDNN_",
                                                     "NCCL_",
                                                     "NVIDIA_TF32_OVERRIDE",
                                                     "NVIDIA_VISIBLE_DEVICES",
                                                     "MALLOC_",
                                                     "GLIBC_TUNABLES",
                                                     "LD_PRELOAD",
                                                     "LD_LIBRARY_PATH",
                                                     "SIMGPU_"};

template <class Prefixes>
bool matches(const Prefixes& prefixes, std::string_view name) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

std::vector<std::string> current_environment() {
  std::vector<std::string> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    variables.emplace_back(*entry);
  }
  return variables;
}

std::string to_guard(const SanitizedEnvironment& record) {
  return nlohmann::json{{"pid", getpid()}, {"cleared", record.cleared}, {"set", record.set}}.dump(
      -1, ' ', true, nlohmann::json::error_handler_t::replace);
}

/// True, with the record, where the guard is this process's own.
bool from_guard(SanitizedEnvironment& record) {
  const char* text = getenv(kGuard);
  if (text == nullptr) return false;
  const nlohmann::json guard = nlohmann::json::parse(text, nullptr, false);
  if (!guard.is_object() || guard.value("pid", nlohmann::json()) != getpid()) return false;
  record.cleared = guard.value("cleared", record.cleared);
  record.set = guard.value("set", record.set);
  record.restarted = true;
  return true;
}

/// Returns only where it failed. The resolved name keeps the process's name in tools like top.
void start_again(char** argv) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) execve(self.c_str(), argv, environ);
}

/// Whether threads should be bound. With a CPU quota the cores are shared, and every container
/// would bind to the same first ones. In a clang build libomp would find the main thread already
/// bound by the libgomp of BLAS, and take that one core for all there is.
bool may_bind() {
#ifdef __clang__
  return false;
#else
  return std::isinf(cpu_quota());
#endif
}

SanitizedEnvironment& record_of_process() {
  static SanitizedEnvironment record;
  return record;
}

}  // namespace

SanitizedEnvironment plan_environment(const std::vector<std::string>& environment,
                                      bool bind_threads) {
  SanitizedEnvironment plan;
  std::map<std::string, std::string> variables;
  for (const std::string& entry : environment) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = entry.substr(0, equals);
    if (matches(kArithmetic, name)) plan.cleared[name] = entry.substr(equals + 1);
    variables[name] = entry.substr(equals + 1);
  }
  // Either variable set by hand, or libgomp's and libomp's own, means that binding was thought of.
  const bool own_binding =
      std::any_of(
          kBinding.begin(), kBinding.end(),
          [&](const auto& entry) { return variables.contains(std::string(entry.first)); }) ||
      variables.contains("GOMP_CPU_AFFINITY") || variables.contains("KMP_AFFINITY");
  if (bind_threads && !own_binding) plan.set.insert(kBinding.begin(), kBinding.end());
  return plan;
}

const SanitizedEnvironment& sanitize_environment(char** argv) {
  SanitizedEnvironment& record = record_of_process();
  if (from_guard(record)) return record;
  record = plan_environment(current_environment(), may_bind());
  for (const auto& [name, value] : record.cleared) unsetenv(name.c_str());
  for (const auto& [name, value] : record.set) setenv(name.c_str(), value.c_str(), 1);
  if (record.cleared.empty() && record.set.empty()) return record;
  setenv(kGuard, to_guard(record).c_str(), 1);
  start_again(argv);
  return record;
}

const SanitizedEnvironment& sanitized_environment() { return record_of_process(); }

std::map<std::string, std::string> relevant_environment() {
  std::map<std::string, std::string> relevant;
  for (const std::string& entry : current_environment()) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos) continue;
    const std::string name = entry.substr(0, equals);
    if (matches(kRelevant, name)) relevant[name] = entry.substr(equals + 1);
  }
  return relevant;
}

}  // namespace trainbench
