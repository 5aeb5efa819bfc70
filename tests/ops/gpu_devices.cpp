#include "gpu/cuda_backend.h"
#include "tests/ops/op_test.h"

namespace trainbench {

namespace {

TestDevice gpu(const std::string& name, const std::string& provider) {
  return {name, {kFp64, kFp32, kTf32, kFp16, kBf16}, [provider] {
            return make_cuda_backend({.provider = provider});
          }};
}

}  // namespace

std::vector<TestDevice> test_devices() { return {gpu("gpu", "auto")}; }

std::vector<TestDevice> test_devices_by_provider() {
  return {gpu("gpu_vendor", "vendor"), gpu("gpu_own", "own")};
}

}  // namespace trainbench
