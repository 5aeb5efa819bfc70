#include <gtest/gtest.h>

#include <string_view>

#include "common/check/check_backend.h"
#include "common/convolution_size.h"
#include "gpu/cuda_backend.h"
#include "tests/gpu/device_values.h"

namespace trainbench {
namespace {

struct Problem {
  const char* meant_for;
  std::int64_t batch, height, width, channels, filters;
  Window window;
};

// Aligned images with channels in whole vectors, which the conformance tests have not: they move 16
// bytes at a time.
constexpr Problem kProblems[] = {
    {"the narrow tiles", 2, 5, 7, 8, 16, {3, 1, 1}},
    {"an odd image and a stride", 2, 9, 7, 16, 32, {3, 2, 1}},
    {"the small tile", 1, 9, 8, 48, 72, {3, 1, 1}},
    {"a place in the window that some pixels never see", 2, 9, 11, 40, 40, {2, 3, 0}},
    {"a stride without a window", 2, 8, 8, 24, 40, {1, 2, 0}},
    {"a large window", 1, 15, 14, 8, 40, {7, 2, 3}},
    {"pixels divided into parts", 3, 20, 20, 40, 40, {3, 1, 1}},
    {"channels divided into parts", 1, 4, 4, 256, 40, {3, 1, 1}},
    {"a first layer", 2, 12, 12, 3, 64, {3, 1, 1}},
    {"the large tile, forward", 1, 131, 130, 8, 72, {3, 1, 1}},
    {"the large tile, backward", 1, 131, 130, 72, 8, {3, 1, 1}},
    {"the large tile, for weights", 1, 6, 6, 240, 1032, {3, 1, 1}},
};

class Conv2dOf : public testing::TestWithParam<Precision> {
 protected:
  Tensor make(const Shape& shape, std::uint64_t stream) {
    return random_tensor(*backend_, shape, GetParam().compute, stream);
  }

  void run(const Problem& p) {
    const MathMode math = GetParam().math;
    const Window& window = p.window;
    const Tensor x = make({p.batch, p.height, p.width, p.channels}, 1);
    const Tensor weights = make({p.filters, window.kernel, window.kernel, p.channels}, 2);
    const Shape output{p.batch, window.outputs(p.height), window.outputs(p.width), p.filters};
    const Tensor y = make(output, 3);
    const Tensor dy = make(output, 4);
    const Tensor dx = make(x.shape, 5);
    const Tensor dw = random_tensor(*backend_, weights.shape, GetParam().master, 6);
    const Tensor db = random_tensor(*backend_, Shape{p.filters}, GetParam().master, 7);
    check_.conv2d(window, x, weights, make({p.filters}, 8), y, math);
    check_.conv2d(window, x, weights, make({p.batch, p.filters}, 9), y, math);
    check_.conv2d_data_gradient(window, dy, weights, dx, false, math);
    check_.conv2d_data_gradient(window, dy, weights, dx, true, math);
    check_.conv2d_weight_gradient(window, x, dy, dw, db, math);
  }

  std::unique_ptr<Backend> backend_ = make_cuda_backend();
  CheckBackend check_{*backend_};
};

TEST_P(Conv2dOf, EveryTileIsRight) {
  for (const Problem& p : kProblems) {
    // Double precision, which is for checks, has the small tile alone.
    const bool large = std::string_view(p.meant_for).substr(0, 9) == "the large";
    if (large && GetParam() == kFp64) continue;
    run(p);
    const CheckSummary summary = check_.summary();
    ASSERT_TRUE(summary.passed) << p.meant_for << ": " << summary.worst;
  }
  EXPECT_GT(check_.summary().outputs, 10000);
}

TEST_P(Conv2dOf, ServedNamesItsShape) {
  run(kProblems[0]);
  const Window& window = kProblems[0].window;
  const ConvolutionSize size{2, 5, 7, 8, 5, 7, 16, 3};
  std::string name = convolution_name("conv2d", window, size, GetParam().compute);
  if (GetParam().math == MathMode::tf32) name += " tf32";
  int found = 0;
  for (const Served& served : backend_->served()) {
    found += served.operation == name && served.provider == "own kernel";
  }
  EXPECT_EQ(found, 1);
}

INSTANTIATE_TEST_SUITE_P(Gpu, Conv2dOf, testing::ValuesIn(kPrecisions),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace trainbench
