#pragma once

#include <cstddef>
#include <utility>

#include "gpu/runtime/check.h"

namespace trainbench::gpu {

/// Owns device memory, aligned to at least 256 bytes.
class DeviceBuffer {
 public:
  /// Throws DeviceError that says how much was asked for and how much the device has left.
  explicit DeviceBuffer(std::size_t bytes);
  ~DeviceBuffer() {
    if (data_ != nullptr) TRAINBENCH_CUDA_NOEXCEPT(cudaFree(data_));
  }
  DeviceBuffer(DeviceBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  DeviceBuffer& operator=(DeviceBuffer&&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Owns host memory that a device can read while the host goes on.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(std::size_t bytes);
  ~PinnedBuffer() {
    if (data_ != nullptr) TRAINBENCH_CUDA_NOEXCEPT(cudaFreeHost(data_));
  }
  PinnedBuffer(PinnedBuffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  PinnedBuffer& operator=(PinnedBuffer&&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  void* data_ = nullptr;
};

}  // namespace trainbench::gpu
