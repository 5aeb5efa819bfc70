#pragma once

#include <utility>

#include "gpu/runtime/check.h"

namespace trainbench::gpu {

/// Owns a stream that does not synchronize with the legacy default stream.
class Stream {
 public:
  Stream() { TRAINBENCH_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() {
    if (stream_ != nullptr) TRAINBENCH_CUDA_NOEXCEPT(cudaStreamDestroy(stream_));
  }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&&) = delete;

  cudaStream_t get() const { return stream_; }
  void synchronize() const { TRAINBENCH_CUDA(cudaStreamSynchronize(stream_)); }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace trainbench::gpu
