#pragma once

#include "common/probes.h"
#include "gpu/kernels.h"
#include "gpu/runtime/event.h"
#include "gpu/runtime/stream.h"

namespace trainbench::gpu {

/// `passes` passes of a STREAM kernel in one launch, two where it sums, which takes scratch.
void stream(const Queue& queue, StreamKernel kernel, const StreamOperands& operands,
            std::int64_t passes);

/// The probes on a CUDA device, in the order of a queue that outlives them.
class CudaProbes final : public Probes {
 public:
  CudaProbes(const Queue& queue, const Stream& compute, const Stream& copies, int device)
      : queue_(queue), compute_(compute), copies_(copies), device_(device) {}

  std::vector<CacheLevel> caches(bool one_unit) const override;
  std::size_t free_bytes() const override;

  void stream(StreamKernel kernel, const StreamOperands& operands, std::int64_t passes) override {
    gpu::stream(queue_, kernel, operands, passes);
  }
  std::string stream_stores(std::size_t) const override { return "through the caches"; }

  std::int64_t line_bytes() const override { return 128; }
  void chase(ConstTensor table, std::int64_t loads, Tensor place) override;
  void chains(std::int64_t steps, Tensor last) override;
  std::string chain_layout(std::int64_t chains) const override;

  int units() const override { return queue_.units; }
  void empty(Tensor counts) override;
  void barriers(std::int64_t times, Tensor counts) override;

  std::unique_ptr<HostMemory> allocate_host(std::size_t bytes, bool pinned) override;
  void transfer(const Transfer& copies, std::int64_t times) override;

 private:
  const Queue& queue_;
  const Stream& compute_;
  const Stream& copies_;
  Event fork_{Event::Use::ordering};
  Event join_{Event::Use::ordering};
  int device_;
};

}  // namespace trainbench::gpu
