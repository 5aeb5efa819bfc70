#include <memory>

#include "gpu/probes.h"
#include "gpu/runtime/buffer.h"

namespace trainbench::gpu {
namespace {

class Pinned final : public HostMemory {
 public:
  explicit Pinned(std::size_t bytes) : buffer_(bytes) {}
  std::byte* data() override { return buffer_.data(); }

 private:
  PinnedBuffer buffer_;
};

class Pageable final : public HostMemory {
 public:
  explicit Pageable(std::size_t bytes) : bytes_(new std::byte[bytes]()) {}
  std::byte* data() override { return bytes_.get(); }

 private:
  std::unique_ptr<std::byte[]> bytes_;
};

}  // namespace

std::unique_ptr<HostMemory> CudaProbes::allocate_host(std::size_t bytes, bool pinned) {
  if (pinned) return std::make_unique<Pinned>(bytes);
  return std::make_unique<Pageable>(bytes);
}

void CudaProbes::transfer(const Transfer& copies, std::int64_t times) {
  fork_.record(compute_);
  fork_.order_before(copies_);
  for (std::int64_t i = 0; i < times; ++i) {
    if (!copies.to_device.absent()) {
      TRAINBENCH_CUDA(cudaMemcpyAsync(copies.to_device.data, copies.from_host,
                                      copies.to_device.bytes(), cudaMemcpyHostToDevice,
                                      compute_.get()));
    }
    if (!copies.from_device.absent()) {
      TRAINBENCH_CUDA(cudaMemcpyAsync(copies.to_host, copies.from_device.data,
                                      copies.from_device.bytes(), cudaMemcpyDeviceToHost,
                                      copies_.get()));
    }
  }
  join_.record(copies_);
  join_.order_before(compute_);
}

}  // namespace trainbench::gpu
