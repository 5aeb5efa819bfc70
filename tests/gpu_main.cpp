#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

// The main of every GPU test program. GoogleTest counts a run whose every case skipped itself as
// passed, so the device is looked for here: without one the program exits with the code that CTest
// reads as skipped.
int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  testing::InitGoogleTest(&argc, argv);
  if (testing::GTEST_FLAG(list_tests)) return RUN_ALL_TESTS();
  int devices = 0;
  const cudaError_t status = cudaGetDeviceCount(&devices);
  if (status != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "no CUDA device: %s\n",
                 status == cudaSuccess ? "none is visible" : cudaGetErrorString(status));
    return std::getenv("TRAINBENCH_REQUIRE_GPU") != nullptr ? EXIT_FAILURE : kSkipped;
  }
  return RUN_ALL_TESTS();
}
