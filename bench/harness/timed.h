#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "bench/harness/case.h"
#include "common/backend.h"

namespace trainbench {

/// Times work of a backend from the first call until all of it has finished: by the host's clock,
/// and on a GPU by the device's own events too.
class WorkTimer {
 public:
  WorkTimer(Backend& backend, bool on_gpu)
      : backend_(backend), timer_(backend.make_timer()), on_gpu_(on_gpu) {}

  /// Calls `step` that many times. `finish` waits for work that is done elsewhere, such as on a
  /// loader's thread, and is part of the wall time.
  template <class Step, class Finish>
  Measurement time(std::int64_t iterations, Step&& step, Finish&& finish) {
    Measurement measurement;
    backend_.synchronize();
    const auto start = std::chrono::steady_clock::now();
    timer_->start();
    for (std::int64_t i = 0; i < iterations; ++i) step();
    timer_->stop();
    finish();
    backend_.synchronize();
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - start;
    measurement.wall_seconds = wall.count();
    if (on_gpu_) measurement.device_seconds = timer_->seconds();
    return measurement;
  }

  template <class Step>
  Measurement time(std::int64_t iterations, Step&& step) {
    return time(iterations, step, [] {});
  }

 private:
  Backend& backend_;
  std::unique_ptr<DeviceTimer> timer_;
  bool on_gpu_;
};

}  // namespace trainbench
