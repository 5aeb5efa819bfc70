#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainbench {

/// The time of a case that everything is judged and shown by.
inline constexpr const char* kWallTime = "wall_time";

/// Whether more of a counter is better: rates, shares of a peak, outputs checked. Of all else
/// (time, memory, error, FLOPs, launches) less is.
bool higher_is_better(std::string_view counter);

/// Whether a counter follows from the clock, which says nothing on a simulated device.
bool is_timed(std::string_view counter);

/// The counters that a name of the command line stands for: "flops" is "flops_per_iteration",
/// "memory" is every kind of memory; any other name is its own.
std::vector<std::string> counters_named(const std::string& name);

/// Those short names, for help: "flops, bytes, ...".
std::string short_counter_names();

}  // namespace trainbench
