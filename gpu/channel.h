#pragma once

#include <vector>

#include "common/backend.h"
#include "gpu/runtime/buffer.h"
#include "gpu/runtime/event.h"

namespace trainbench::gpu {

/// Batches through pinned memory, on a stream of their own. Per slot two events order the streams:
/// computing waits for the copy that brought the batch, the next copy for the last computation that
/// read it. The thread that sends and the one that receives hand slots over by means of their own,
/// so that a slot is released before it is sent again.
class CudaChannel final : public BatchChannel {
 public:
  /// `device_slots` is the device memory of each slot. Streams and memory must outlive the channel.
  CudaChannel(int device, const Stream& compute, const Stream& copies,
              const std::vector<Tensor>& device_slots);
  ~CudaChannel() override;

  std::byte* host(int slot) override;
  void send(int slot) override;
  Tensor receive(int slot) override;
  void release(int slot) override;

 private:
  struct Slot {
    explicit Slot(Tensor device_in) : device(device_in), host(device_in.bytes()) {}

    Tensor device;
    PinnedBuffer host;
    Event uploaded{Event::Use::ordering};
    Event consumed{Event::Use::ordering};
  };
  Slot& at(int slot);

  int device_;
  const Stream& compute_;
  const Stream& copies_;
  std::vector<Slot> slots_;
};

}  // namespace trainbench::gpu
