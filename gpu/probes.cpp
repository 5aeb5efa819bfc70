#include "gpu/probes.h"

#include "gpu/cuda_backend_impl.h"

namespace trainbench::gpu {
namespace {

std::size_t attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  TRAINBENCH_CUDA(cudaDeviceGetAttribute(&value, which, device));
  return static_cast<std::size_t>(value);
}

}  // namespace

/// An SM's L1 is at least what it may have of shared memory: both are one memory.
std::vector<CacheLevel> CudaProbes::caches(bool one_unit) const {
  const std::size_t units = one_unit ? 1 : static_cast<std::size_t>(queue_.units);
  return {{"L1", attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor, device_) * units},
          {"L2", attribute(cudaDevAttrL2CacheSize, device_)}};
}

std::size_t CudaProbes::free_bytes() const {
  std::size_t free = 0;
  std::size_t total = 0;
  TRAINBENCH_CUDA(cudaMemGetInfo(&free, &total));
  return free;
}

std::unique_ptr<Probes> CudaBackend::make_probes() {
  return std::make_unique<CudaProbes>(queue_, compute_, copies_, index_);
}

}  // namespace trainbench::gpu
