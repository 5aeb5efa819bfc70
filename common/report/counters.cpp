#include "common/report/counters.h"

#include <algorithm>
#include <array>

#include "common/config/spelling.h"
#include "common/memory.h"

namespace trainbench {
namespace {

/// Counts of one iteration that the command line names without "_per_iteration".
constexpr std::array<std::string_view, 3> kPerIteration{"flops", "bytes", "launches"};
constexpr std::string_view kMemory = "memory";

bool holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

}  // namespace

bool higher_is_better(std::string_view counter) {
  return holds(counter, "_per_second") || holds(counter, "fraction_of_peak") ||
         counter == "checked_outputs";
}

bool is_timed(std::string_view counter) {
  return holds(counter, "_time") || holds(counter, "seconds_per_") ||
         holds(counter, "_per_second") || holds(counter, "fraction");
}

std::vector<std::string> counters_named(const std::string& name) {
  if (std::find(kPerIteration.begin(), kPerIteration.end(), name) != kPerIteration.end()) {
    return {name + "_per_iteration"};
  }
  if (name != kMemory) return {name};
  std::vector<std::string> all;
  for (const MemoryKind kind : kMemoryKinds) {
    all.push_back("memory_bytes_" + std::string(name_of(kind)));
  }
  return all;
}

std::string short_counter_names() {
  std::vector<std::string_view> names(kPerIteration.begin(), kPerIteration.end());
  names.push_back(kMemory);
  return joined(names);
}

}  // namespace trainbench
