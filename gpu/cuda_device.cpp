#include "gpu/cuda_device.h"

#include <cuda_runtime_api.h>

#include <cstdlib>

#include "common/core/error.h"
#include "gpu/code_probe.h"
#include "gpu/runtime/cublaslt.h"

namespace trainbench {
namespace {

/// "13.0" of 13000 (CUDA) or, with `scale` 10000, of 130000 (cuBLAS since 11).
std::string version_text(std::size_t version, std::size_t scale, std::size_t minor_scale) {
  return std::to_string(version / scale) + "." + std::to_string(version % scale / minor_scale);
}

/// FP32 lanes of an SM, from the CUDA C++ Programming Guide's table of throughputs; 0: unknown.
int lanes_per_unit(int major, int minor) {
  if (major == 7 || (major == 8 && minor == 0)) return 64;
  if (major >= 8 && major <= 12) return 128;
  return 0;
}

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, which, device) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return 0;
  }
  return value;
}

/// Opens the device and looks for our code; the reason if either fails.
std::string why_unusable(const CudaDevice& device, int index) {
  if (attribute(cudaDevAttrComputeMode, index) == cudaComputeModeProhibited) {
    return "its compute mode is Prohibited (nvidia-smi -c DEFAULT allows computing again)";
  }
  cudaError_t error = cudaSetDevice(index);
  cudaFuncAttributes attributes{};
  if (error == cudaSuccess) error = cudaFuncGetAttributes(&attributes, gpu::code_probe());
  if (error == cudaSuccess) return "";
  static_cast<void>(cudaGetLastError());
  if (error == cudaErrorNoKernelImageForDevice || error == cudaErrorInvalidDeviceFunction) {
    return "this build holds no code for compute capability " + device.capability() +
           "; configure with -DTRAINBENCH_CUDA_ARCHITECTURES=" + std::to_string(device.major) +
           std::to_string(device.minor);
  }
  return std::string("opening it failed: ") + cudaGetErrorString(error);
}

CudaDevice describe(int index) {
  CudaDevice device;
  cudaDeviceProp properties{};
  const cudaError_t error = cudaGetDeviceProperties(&properties, index);
  device.info.kind = "gpu";
  if (error != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    device.unusable = std::string("its properties cannot be read: ") + cudaGetErrorString(error);
    return device;
  }
  device.major = properties.major;
  device.minor = properties.minor;
  device.info.name = properties.name;
  device.info.simulated = is_simulated_name(device.info.name);
  device.info.memory_bytes = properties.totalGlobalMem;
  device.info.units = properties.multiProcessorCount;
  device.info.lanes = device.info.units * lanes_per_unit(device.major, device.minor);
  device.info.clock = attribute(cudaDevAttrClockRate, index) * 1e3;
  device.unusable = why_unusable(device, index);
  return device;
}

std::string why_no_count(cudaError_t error, int driver) {
  if (driver == 0) return "no NVIDIA driver is installed (libcuda.so.1 was not found)";
  if (error == cudaErrorInsufficientDriver) {
    return "the NVIDIA driver is too old: it supports CUDA " +
           version_text(static_cast<std::size_t>(driver), 1000, 10) + ", this build needs " +
           version_text(CUDART_VERSION / 1000 * 1000, 1000, 10) + " or newer";
  }
  if (error == cudaErrorNoDevice) {
    const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
    return visible == nullptr ? "the NVIDIA driver finds no device"
                              : "the NVIDIA driver finds no device; CUDA_VISIBLE_DEVICES is \"" +
                                    std::string(visible) + "\"";
  }
  return std::string("the NVIDIA driver does not start: ") + cudaGetErrorString(error);
}

std::string cublaslt_version() {
  try {
    return version_text(gpu::cublaslt().cublasLtGetVersion(), 10000, 100);
  } catch (const Unsupported&) {
    return "not found";
  }
}

}  // namespace

CudaProbe probe_cuda() {
  CudaProbe probe;
  int runtime = 0;
  int driver = 0;
  static_cast<void>(cudaRuntimeGetVersion(&runtime));
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  probe.runtime = version_text(static_cast<std::size_t>(runtime), 1000, 10);
  probe.cublaslt = cublaslt_version();
  if (driver != 0) probe.driver = version_text(static_cast<std::size_t>(driver), 1000, 10);

  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error != cudaSuccess || count == 0) {
    static_cast<void>(cudaGetLastError());
    probe.reason = why_no_count(error == cudaSuccess ? cudaErrorNoDevice : error, driver);
    return probe;
  }
  bool usable = false;
  for (int index = 0; index < count; ++index) {
    probe.devices.push_back(describe(index));
    usable = usable || probe.devices.back().unusable.empty();
  }
  if (!usable) probe.reason = probe.devices.front().unusable;
  return probe;
}

}  // namespace trainbench
