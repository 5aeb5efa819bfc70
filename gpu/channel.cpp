#include "gpu/channel.h"

namespace trainbench::gpu {

CudaChannel::CudaChannel(int device, const Stream& compute, const Stream& copies,
                         const std::vector<Tensor>& device_slots)
    : device_(device), compute_(compute), copies_(copies) {
  slots_.reserve(device_slots.size());
  for (const Tensor& slot : device_slots) slots_.emplace_back(slot);
}

CudaChannel::~CudaChannel() {
  // Copies that still read the pinned memory must not find it gone.
  TRAINBENCH_CUDA_NOEXCEPT(cudaStreamSynchronize(copies_.get()));
}

CudaChannel::Slot& CudaChannel::at(int slot) {
  // The loader's thread calls too, and every thread starts on device 0.
  TRAINBENCH_CUDA(cudaSetDevice(device_));
  return slots_.at(static_cast<std::size_t>(slot));
}

std::byte* CudaChannel::host(int slot) {
  Slot& s = at(slot);
  s.uploaded.synchronize();
  return s.host.data();
}

void CudaChannel::send(int slot) {
  Slot& s = at(slot);
  s.consumed.order_before(copies_);
  TRAINBENCH_CUDA(cudaMemcpyAsync(s.device.data, s.host.data(), s.device.bytes(),
                                  cudaMemcpyHostToDevice, copies_.get()));
  s.uploaded.record(copies_);
}

Tensor CudaChannel::receive(int slot) {
  Slot& s = at(slot);
  s.uploaded.order_before(compute_);
  return s.device;
}

void CudaChannel::release(int slot) { at(slot).consumed.record(compute_); }

}  // namespace trainbench::gpu
