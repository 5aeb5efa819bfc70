#pragma once

#include <cstdint>

namespace trainbench {

/// Allocations that this process has made from the C++ heap so far, by any of its threads.
std::int64_t heap_allocations();

}  // namespace trainbench
