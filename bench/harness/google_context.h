#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace trainbench {

/// The context that Google Benchmark 1.7.1 would write: date, host_name, executable, num_cpus,
/// mhz_per_cpu, cpu_scaling_enabled, caches, load_avg, library_build_type.
nlohmann::ordered_json google_context(const std::string& executable);

}  // namespace trainbench
