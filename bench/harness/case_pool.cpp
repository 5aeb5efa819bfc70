#include "bench/harness/case_pool.h"

#include <unistd.h>

#include <algorithm>

namespace trainbench {

CasePool::Lease CasePool::get(std::size_t index) {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.index == index; });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return {*entries_.front().prepared, false};
  }
  entries_.push_front({index, prepare_(index)});
  evict();
  return {*entries_.front().prepared, true};
}

void CasePool::drop(std::size_t index) {
  entries_.remove_if([&](const Entry& entry) { return entry.index == index; });
}

void CasePool::evict() {
  std::size_t bytes = 0;
  for (const Entry& entry : entries_) bytes += entry.prepared->memory().total();
  while (entries_.size() > 1 && (entries_.size() > max_cases_ || bytes > max_bytes_)) {
    bytes -= entries_.back().prepared->memory().total();
    entries_.pop_back();
  }
}

std::size_t default_pool_bytes() {
  const auto pages = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES));
  return pages * static_cast<std::size_t>(sysconf(_SC_PAGE_SIZE)) / 4;
}

}  // namespace trainbench
