#pragma once

#include <cstdint>
#include <filesystem>

namespace trainbench {

/// CPUs' worth of time that the control groups of this process allow, the least of all levels of v1
/// and v2 hierarchies; infinity without a quota.
double cpu_quota(const std::filesystem::path& root = "/");

/// Bytes of memory that this process may still take: what the machine has available, and no more
/// than the limits of its control groups. 0 where nothing is known.
std::uint64_t usable_memory(const std::filesystem::path& root = "/");

}  // namespace trainbench
