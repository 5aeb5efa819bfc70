#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>

#include "bench/harness/case.h"

namespace trainbench {

/// Keeps cases prepared between their repetitions, as many as fit the bounds: with interleaving
/// each repetition of a case comes back after others have run. The least recently used goes first.
class CasePool {
 public:
  using Prepare = std::function<std::unique_ptr<PreparedCase>(std::size_t index)>;

  CasePool(Prepare prepare, std::size_t max_cases, std::size_t max_bytes)
      : prepare_(std::move(prepare)), max_cases_(max_cases), max_bytes_(max_bytes) {}

  /// The prepared case, and whether it had to be prepared anew.
  struct Lease {
    PreparedCase& prepared;
    bool fresh;
  };
  Lease get(std::size_t index);

  /// Forgets a case: it has failed or is finished.
  void drop(std::size_t index);

 private:
  struct Entry {
    std::size_t index;
    std::unique_ptr<PreparedCase> prepared;
  };
  void evict();

  Prepare prepare_;
  std::size_t max_cases_;
  std::size_t max_bytes_;
  std::list<Entry> entries_;  // most recently used first
};

/// Bytes of memory that prepared cases may hold together: a quarter of the machine's.
std::size_t default_pool_bytes();

}  // namespace trainbench
