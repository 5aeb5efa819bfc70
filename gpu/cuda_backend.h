#pragma once

#include <memory>
#include <string>

#include "common/backend.h"

namespace trainbench {

struct CudaOptions {
  int device = 0;  ///< index among the visible devices
  /// Who multiplies matrices: "vendor" (cuBLASLt), "own" (our kernels), or "auto": the vendor's
  /// library where it is found, else our kernels. All else is our kernels'.
  std::string provider = "auto";
};

/// A backend on a CUDA device. Throws InputError for a provider that is unknown, and Unsupported
/// with the reason where the device, or the library that was asked for, cannot be used. Recorded
/// steps (Backend::record) are CUDA graphs: recording runs nothing on the device, so that a
/// recorded step first takes effect when it is replayed.
std::unique_ptr<Backend> make_cuda_backend(const CudaOptions& options = {});

}  // namespace trainbench
