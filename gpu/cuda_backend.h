#pragma once

#include <memory>

#include "common/backend.h"

namespace trainbench {

struct CudaOptions {
  int device = 0;  ///< index among the visible devices
};

/// A backend on a CUDA device. Throws Unsupported with the reason where the device cannot be used.
/// recorded steps (Backend::record) are CUDA graphs: recording runs nothing on the device, so that
/// a recorded step first takes effect when it is replayed.
std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options = {});

}  // namespace trainbench
