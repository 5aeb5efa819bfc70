#include <gtest/gtest.h>

#include "gpu/cuda_backend.h"
#include "tests/data/loading.h"

namespace trainbench {
namespace {

TEST(LoaderOnGpu, DeliversEveryByte) {
  const auto backend = make_cuda_backend({});
  testing::expect_loader_delivers(*backend);
}

}  // namespace
}  // namespace trainbench
