#include "gpu/runtime/cublaslt.h"

#include <dlfcn.h>

#include <string>

#include "common/core/error.h"

namespace trainbench::gpu {
namespace {

CublasLt open_library() {
  const std::string name = "libcublasLt.so." + std::to_string(CUBLAS_VER_MAJOR);
  void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw Unsupported(std::string("cuBLASLt: ") + dlerror());
  CublasLt functions{};
#define TRAINBENCH_LOAD(function)                                                                 \
  functions.function = reinterpret_cast<decltype(functions.function)>(dlsym(library, #function)); \
  if (functions.function == nullptr) throw Unsupported(name + " has no " #function);
  TRAINBENCH_CUBLASLT_FUNCTIONS(TRAINBENCH_LOAD)
#undef TRAINBENCH_LOAD
  return functions;
}

}  // namespace

const CublasLt& cublaslt() {
  static const CublasLt functions = open_library();
  return functions;
}

}  // namespace trainbench::gpu
