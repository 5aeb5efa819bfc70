#include <dlfcn.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "common/core/error.h"
#include "gpu/cuda_backend.h"
#include "tests/gpu/small_training.h"

/// Takes the place of the C library's: to this program there is no cuBLASLt.
extern "C" void* dlopen(const char* name, int flags) noexcept {
  using Function = void* (*)(const char*, int);
  static const auto real = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "dlopen"));
  const bool hidden = name != nullptr && std::string_view(name).find("cublasLt") == 3;
  return real(hidden ? "libcublasLt.so.hidden" : name, flags);
}

namespace trainbench {
namespace {

TEST(WithoutCublasLt, TheVendorsProductsAreUnsupportedWithTheReason) {
  try {
    make_cuda_backend({.provider = "vendor"});
    FAIL() << "cuBLASLt was found";
  } catch (const Unsupported& missing) {
    EXPECT_NE(std::string(missing.what()).find("cuBLASLt: "), std::string::npos) << missing.what();
  }
}

TEST(WithoutCublasLt, OurKernelsTrain) {
  for (const char* const provider : {"auto", "own"}) {
    const auto backend = make_cuda_backend({.provider = provider});
    const SmallTraining training{.precision = kFp16};
    Trainer trainer = training.make(*backend);
    const std::vector<Batch> batches = training.resident_batches(*backend);
    std::vector<double> losses;
    for (int epoch = 0; epoch < 3; ++epoch) {
      for (const Batch& batch : batches) trainer.step(*backend, batch);
      losses.push_back(trainer.loss());
    }
    EXPECT_LT(losses.back(), losses.front());
    for (const Served& served : backend->served()) {
      EXPECT_EQ(served.provider, "own kernel") << served.operation;
    }
  }
}

}  // namespace
}  // namespace trainbench
