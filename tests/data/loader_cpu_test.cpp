#include <gtest/gtest.h>

#include "cpu/cpu_backend.h"
#include "tests/data/loading.h"

namespace trainbench {
namespace {

TEST(LoaderOnCpu, DeliversEveryByte) {
  const auto backend = make_cpu_backend({.threads = 2});
  testing::expect_loader_delivers(*backend);
}

}  // namespace
}  // namespace trainbench
