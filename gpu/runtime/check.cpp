#include "gpu/runtime/check.h"

#include <atomic>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>

#include "common/core/error.h"
#include "gpu/runtime/cublaslt.h"

namespace trainbench::gpu {
namespace {

std::string place(const char* call, const char* file, int line) {
  std::string_view path(file);
  const std::size_t root = path.rfind("gpu/");
  if (root != std::string_view::npos) path.remove_prefix(root);
  return std::string(call) + " at " + std::string(path) + ":" + std::to_string(line) + ": ";
}

std::string describe(cudaError_t error, const char* call, const char* file, int line) {
  return place(call, file, line) + cudaGetErrorName(error) + ", " + cudaGetErrorString(error);
}

}  // namespace

void throw_cuda_error(cudaError_t error, const char* call, const char* file, int line) {
  // Takes the error out of the runtime's record, or a later check would meet it again. One that
  // broke the context stays there whatever we do.
  static_cast<void>(cudaGetLastError());
  throw DeviceError(describe(error, call, file, line));
}

void throw_cublas_error(cublasStatus_t status, const char* call, const char* file, int line) {
  throw DeviceError(place(call, file, line) + cublaslt().cublasLtGetStatusName(status) + ", " +
                    cublaslt().cublasLtGetStatusString(status));
}

void report_cuda_error(cudaError_t error, const char* call, const char* file, int line) noexcept {
  // After a kernel has failed, every call fails the same way: once is enough, and an exception on
  // its way has told already.
  static std::atomic<int> reported{cudaSuccess};
  if (reported.exchange(error) == error || std::uncaught_exceptions() > 0) return;
  try {
    std::fprintf(stderr, "trainbench: %s\n", describe(error, call, file, line).c_str());
  } catch (...) {
    std::fputs("trainbench: a CUDA call failed in a destructor\n", stderr);
  }
}

}  // namespace trainbench::gpu
