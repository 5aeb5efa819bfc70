#include "gpu/runtime/buffer.h"

#include <algorithm>
#include <cstdio>
#include <string>

#include "common/core/error.h"

namespace trainbench::gpu {
namespace {

std::string in_mebibytes(std::size_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

}  // namespace

DeviceBuffer::DeviceBuffer(std::size_t bytes) : bytes_(bytes) {
  // cudaMalloc(0) gives a null pointer, which would read as "no tensor".
  const cudaError_t error = cudaMalloc(&data_, std::max<std::size_t>(bytes, 1));
  if (error == cudaSuccess) return;
  if (error != cudaErrorMemoryAllocation) throw_cuda_error(error, "cudaMalloc", __FILE__, __LINE__);
  static_cast<void>(cudaGetLastError());
  std::size_t free = 0;
  std::size_t total = 0;
  TRAINBENCH_CUDA(cudaMemGetInfo(&free, &total));
  throw DeviceError("out of device memory: needs " + in_mebibytes(bytes) + " more, free " +
                    in_mebibytes(free) + " of " + in_mebibytes(total));
}

PinnedBuffer::PinnedBuffer(std::size_t bytes) {
  TRAINBENCH_CUDA(cudaHostAlloc(&data_, std::max<std::size_t>(bytes, 1), cudaHostAllocPortable));
}

}  // namespace trainbench::gpu
