#pragma once

#include <string>
#include <vector>

#include "common/system/device_info.h"

namespace trainbench {

/// A CUDA device as the driver shows it.
struct CudaDevice {
  DeviceInfo info;
  int major = 0;  ///< compute capability
  int minor = 0;
  std::string unusable;  ///< why this build cannot compute on it; empty: it can

  /// The compute capability as text: "9.0".
  std::string capability() const { return std::to_string(major) + "." + std::to_string(minor); }
};

/// What there is to compute on. Either devices, or the reason why there are none.
struct CudaProbe {
  std::vector<CudaDevice> devices;
  std::string reason;    ///< why there is no device that can be used; empty: there is one
  std::string driver;    ///< newest CUDA version the driver supports: "13.0"; empty: no driver
  std::string runtime;   ///< CUDA version of the runtime library
  std::string cublaslt;  ///< version of cuBLASLt
};

/// Looks for devices. Starts the driver and, to see whether they can run this build's code, opens
/// each device; never throws.
CudaProbe probe_cuda();

}  // namespace trainbench
