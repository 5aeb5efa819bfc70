#pragma once

#include <utility>

#include "gpu/runtime/check.h"
#include "gpu/runtime/stream.h"

namespace trainbench::gpu {

/// Owns an event: a mark in the order of a stream.
class Event {
 public:
  /// Events that only order work are cheaper, and let a waiting host thread sleep.
  enum class Use { ordering, timing };

  explicit Event(Use use) {
    const unsigned flags =
        use == Use::timing ? cudaEventDefault : cudaEventDisableTiming | cudaEventBlockingSync;
    TRAINBENCH_CUDA(cudaEventCreateWithFlags(&event_, flags));
  }
  ~Event() {
    if (event_ != nullptr) TRAINBENCH_CUDA_NOEXCEPT(cudaEventDestroy(event_));
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&&) = delete;

  void record(const Stream& stream) { TRAINBENCH_CUDA(cudaEventRecord(event_, stream.get())); }
  /// Work enqueued on `stream` from now on waits for the last record(); at once if there is none.
  void order_before(const Stream& stream) const {
    TRAINBENCH_CUDA(cudaStreamWaitEvent(stream.get(), event_, 0));
  }
  void synchronize() const { TRAINBENCH_CUDA(cudaEventSynchronize(event_)); }
  /// Device seconds from `start` to this event; both must have been reached.
  double seconds_since(const Event& start) const {
    float milliseconds = 0;
    TRAINBENCH_CUDA(cudaEventElapsedTime(&milliseconds, start.event_, event_));
    return milliseconds * 1e-3;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace trainbench::gpu
