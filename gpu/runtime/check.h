#pragma once

#include <cublasLt.h>
#include <cuda_runtime_api.h>

namespace trainbench::gpu {

/// Throws DeviceError: the call, where it stands, and the runtime's name and text of the error.
[[noreturn]] void throw_cuda_error(cudaError_t error, const char* call, const char* file, int line);
[[noreturn]] void throw_cublas_error(cublasStatus_t status, const char* call, const char* file,
                                     int line);
/// Writes the same line to standard error; for destructors, which cannot throw.
void report_cuda_error(cudaError_t error, const char* call, const char* file, int line) noexcept;

}  // namespace trainbench::gpu

/// Evaluates a runtime call and throws DeviceError unless it succeeded.
#define TRAINBENCH_CUDA(call)                                                           \
  do {                                                                                  \
    const cudaError_t trainbench_error = (call);                                        \
    if (trainbench_error != cudaSuccess) {                                              \
      ::trainbench::gpu::throw_cuda_error(trainbench_error, #call, __FILE__, __LINE__); \
    }                                                                                   \
  } while (false)

/// The same where throwing is not allowed: reports the error and goes on.
#define TRAINBENCH_CUDA_NOEXCEPT(call)                                                   \
  do {                                                                                   \
    const cudaError_t trainbench_error = (call);                                         \
    if (trainbench_error != cudaSuccess) {                                               \
      ::trainbench::gpu::report_cuda_error(trainbench_error, #call, __FILE__, __LINE__); \
    }                                                                                    \
  } while (false)

/// Evaluates a cuBLASLt call and throws DeviceError unless it succeeded.
#define TRAINBENCH_CUBLAS(call)                                                            \
  do {                                                                                     \
    const cublasStatus_t trainbench_status = (call);                                       \
    if (trainbench_status != CUBLAS_STATUS_SUCCESS) {                                      \
      ::trainbench::gpu::throw_cublas_error(trainbench_status, #call, __FILE__, __LINE__); \
    }                                                                                      \
  } while (false)

/// Follows a kernel launch: throws DeviceError if the launch itself failed.
#define TRAINBENCH_LAUNCHED() TRAINBENCH_CUDA(cudaGetLastError())
