#include "gpu/cuda_backend.h"
#include "tests/ops/op_test.h"

namespace trainbench {

std::vector<TestDevice> test_devices() {
  return {{"gpu", {kFp64, kFp32, kTf32, kFp16, kBf16}, [] { return make_cuda_backend(); }}};
}

std::vector<TestDevice> test_devices_by_provider() { return test_devices(); }

}  // namespace trainbench
