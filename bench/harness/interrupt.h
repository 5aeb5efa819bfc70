#pragma once

namespace trainbench {

/// Turns SIGINT and SIGTERM into a flag for as long as it lives. A second signal ends the program
/// at once.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
};

bool interrupted();

}  // namespace trainbench
