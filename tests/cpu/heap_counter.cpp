#include "tests/cpu/heap_counter.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<std::int64_t> count{0};
}

// The sanitizers bring an operator new of their own; the builds without them count.
#if !defined(TRAINBENCH_SANITIZED)
void* operator new(std::size_t bytes) {
  ++count;
  if (void* block = std::malloc(bytes)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }
#endif

namespace trainbench {

std::int64_t heap_allocations() { return count; }

}  // namespace trainbench
