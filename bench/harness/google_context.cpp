#include "bench/harness/google_context.h"

#include <benchmark/benchmark.h>

#include <cmath>
#include <ctime>

namespace trainbench {
namespace {

/// Local time with its distance from UTC: 2026-01-31T12:00:00+01:00.
std::string local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S%z", &parts);
  // strftime writes +0100.
  return std::string(text, length).insert(length - 2, ":");
}

}  // namespace

nlohmann::ordered_json google_context(const std::string& executable) {
  const benchmark::CPUInfo& cpu = benchmark::CPUInfo::Get();
  nlohmann::ordered_json context{
      {"date", local_time()},
      {"host_name", benchmark::SystemInfo::Get().name},
      {"executable", executable},
      {"num_cpus", cpu.num_cpus},
      {"mhz_per_cpu", std::llround(cpu.cycles_per_second / 1e6)},
      {"cpu_scaling_enabled", cpu.scaling == benchmark::CPUInfo::ENABLED},
  };
  nlohmann::ordered_json caches = nlohmann::ordered_json::array();
  for (const benchmark::CPUInfo::CacheInfo& cache : cpu.caches) {
    caches.push_back({{"type", cache.type},
                      {"level", cache.level},
                      {"size", cache.size},
                      {"num_sharing", cache.num_sharing}});
  }
  context["caches"] = std::move(caches);
  context["load_avg"] = cpu.load_avg;
#ifdef NDEBUG
  context["library_build_type"] = "release";
#else
  context["library_build_type"] = "debug";
#endif
  return context;
}

}  // namespace trainbench
