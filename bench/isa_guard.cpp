// Says in one line that this binary was built for more than this CPU has, before the first
// instruction of that kind can kill the process. Compiled for the baseline architecture alone, and
// run before any constructor: code elsewhere in the program may use any instruction of the build's.

#include "bench/isa_guard.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>

namespace trainbench {
namespace {

struct Line {
  char text[512];
  std::size_t length = 0;

  void add(const char* part) {
    while (*part != '\0' && length < sizeof text) text[length++] = *part++;
  }
};

/// Bits of leaf 7 in EDX (Intel SDM, volume 2A, CPUID), for which clang 14 has no name.
bool leaf7_edx(unsigned bit) {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx >> bit & 1u) != 0;
}

void guard(int, char**, char**) {
  __builtin_cpu_init();
  const struct {
    std::uint32_t feature;
    bool present;
    const char* name;
  } features[] = {
      {kSse42, __builtin_cpu_supports("sse4.2") != 0, "SSE4.2"},
      {kPopcnt, __builtin_cpu_supports("popcnt") != 0, "POPCNT"},
      {kAvx, __builtin_cpu_supports("avx") != 0, "AVX"},
      {kAvx2, __builtin_cpu_supports("avx2") != 0, "AVX2"},
      {kFma, __builtin_cpu_supports("fma") != 0, "FMA"},
      {kBmi2, __builtin_cpu_supports("bmi2") != 0, "BMI2"},
      {kAvx512f, __builtin_cpu_supports("avx512f") != 0, "AVX512F"},
      {kAvx512dq, __builtin_cpu_supports("avx512dq") != 0, "AVX512DQ"},
      {kAvx512bw, __builtin_cpu_supports("avx512bw") != 0, "AVX512BW"},
      {kAvx512vl, __builtin_cpu_supports("avx512vl") != 0, "AVX512VL"},
      {kAvx512ifma, __builtin_cpu_supports("avx512ifma") != 0, "AVX512IFMA"},
      {kAvx512vbmi, __builtin_cpu_supports("avx512vbmi") != 0, "AVX512VBMI"},
      {kAvx512vbmi2, __builtin_cpu_supports("avx512vbmi2") != 0, "AVX512VBMI2"},
      {kAvx512vnni, __builtin_cpu_supports("avx512vnni") != 0, "AVX512VNNI"},
      {kAvx512bitalg, __builtin_cpu_supports("avx512bitalg") != 0, "AVX512BITALG"},
      {kAvx512bf16, __builtin_cpu_supports("avx512bf16") != 0, "AVX512BF16"},
      {kAvx512fp16, leaf7_edx(23), "AVX512FP16"},
      {kAmxBf16, leaf7_edx(22), "AMX-BF16"},
  };
  Line line;
  line.add("trainbench: built for a CPU with");
  bool all_present = true;
  for (const auto& each : features) {
    if ((kRequiredIsa & each.feature) == 0 || each.present) continue;
    line.add(all_present ? " " : ", ");
    line.add(each.name);
    all_present = false;
  }
  if (all_present) return;
  line.add(
      ", which this one lacks; configure with -DTRAINBENCH_ARCH=x86-64 for a portable build\n");
  if (write(STDERR_FILENO, line.text, line.length) < 0) _exit(2);
  _exit(2);
}

// Runs before the constructors of the program and of its libraries.
__attribute__((section(".preinit_array"), used)) void (*const kGuard)(int, char**, char**) = guard;

}  // namespace
}  // namespace trainbench

#endif
