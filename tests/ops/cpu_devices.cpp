#include "cpu/cpu_backend.h"
#include "cpu/providers.h"
#include "tests/ops/op_test.h"

namespace trainbench {
namespace {

TestDevice cpu(const std::string& name, const std::string& provider) {
  std::vector<Precision> precisions{kFp32, kFp16, kBf16};
  // oneDNN has no products in double.
  if (provider != "onednn") precisions.push_back(kFp64);
  return {name, precisions,
          [provider] { return make_cpu_backend({.threads = 2, .provider = provider}); }};
}

}  // namespace

std::vector<TestDevice> test_devices() { return {cpu("cpu", "auto")}; }

std::vector<TestDevice> test_devices_by_provider() {
  std::vector<TestDevice> devices = test_devices();
  for (const auto& [provider, version] : cpu_providers()) {
    devices.push_back(cpu("cpu_" + provider, provider));
  }
  return devices;
}

}  // namespace trainbench
