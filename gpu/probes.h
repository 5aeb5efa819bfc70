#pragma once

#include "common/probes.h"
#include "gpu/kernels.h"

namespace trainbench::gpu {

/// `passes` passes of a STREAM kernel in one launch, two where it sums, which takes scratch.
void stream(const Queue& queue, StreamKernel kernel, const StreamOperands& operands,
            std::int64_t passes);

/// The probes on a CUDA device, in the order of a queue that outlives them.
class CudaProbes final : public Probes {
 public:
  CudaProbes(const Queue& queue, int device) : queue_(queue), device_(device) {}

  std::vector<CacheLevel> caches(bool one_unit) const override;
  std::size_t free_bytes() const override;

  void stream(StreamKernel kernel, const StreamOperands& operands, std::int64_t passes) override {
    gpu::stream(queue_, kernel, operands, passes);
  }
  std::string stream_stores(std::size_t) const override { return "through the caches"; }

 private:
  const Queue& queue_;
  int device_;
};

}  // namespace trainbench::gpu
