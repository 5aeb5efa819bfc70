#pragma once

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
  GraphExec(GraphExec&& other) noexcept : exec_(std::exchange(other.exec_, nullptr)) {}
  GraphExec& operator=(GraphExec&&) = delete;

  void launch(const Stream& stream) const { TRAINBENCH_CUDA(cudaGraphLaunch(exec_, stream.get())); }

 private:
  explicit GraphExec(cudaGraphExec_t exec) : exec_(exec) {}

  cudaGraphExec_t exec_ = nullptr;
};

}  // namespace trainbench::gpu
