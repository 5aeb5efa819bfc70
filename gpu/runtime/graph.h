#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "gpu/runtime/check.h"
#include "gpu/runtime/stream.h"

namespace trainbench::gpu {

/// Owns work that was captured from a stream, ready to be launched as a whole.
class GraphExec {
 public:
  /// Captures what `work` enqueues on `stream`; none of it runs. Whatever `work` throws ends the
  /// capture and goes on to the caller.
  static GraphExec capture(const Stream& stream, const std::function<void()>& work);

  ~GraphExec() {
    if (exec_ != nullptr) TRAINBENCH_CUDA_NOEXCEPT(cudaGraphExecDestroy(exec_));
  }
  GraphExec(GraphExec&& other) noexcept
      : exec_(std::exchange(other.exec_, nullptr)), kernels_(other.kernels_) {}
  GraphExec& operator=(GraphExec&&) = delete;

  void launch(const Stream& stream) const { TRAINBENCH_CUDA(cudaGraphLaunch(exec_, stream.get())); }
  /// How many kernels it has.
  std::int64_t kernels() const { return kernels_; }

 private:
  GraphExec(cudaGraphExec_t exec, std::int64_t kernels) : exec_(exec), kernels_(kernels) {}

  cudaGraphExec_t exec_ = nullptr;
  std::int64_t kernels_ = 0;
};

}  // namespace trainbench::gpu
