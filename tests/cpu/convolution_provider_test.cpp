// Libraries write where they were told to, and nowhere else: results, and the workspace whose size
// they name.

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <vector>

#include "cpu/providers.h"

namespace trainbench {
namespace {

/// Memory with watched bytes on both sides.
class Watched {
 public:
  explicit Watched(std::size_t bytes) : bytes_(bytes), memory_(bytes + 2 * kMargin, kMark) {
    std::fill_n(memory_.begin() + kMargin, bytes, std::uint8_t{0});
  }
  void* data() { return memory_.data() + kMargin; }
  bool intact() const {
    const auto marked = [](std::uint8_t byte) { return byte == kMark; };
    return std::all_of(memory_.begin(), memory_.begin() + kMargin, marked) &&
           std::all_of(memory_.begin() + static_cast<std::ptrdiff_t>(kMargin + bytes_),
                       memory_.end(), marked);
  }

 private:
  static constexpr std::size_t kMargin = std::size_t{1} << 18;
  static constexpr std::uint8_t kMark = 0xab;
  std::size_t bytes_;
  std::vector<std::uint8_t> memory_;
};

void expect_confined(const ConvolutionProvider& provider, const ConvolutionProblem& p) {
  const auto plan = provider.plan(p);
  if (plan == nullptr) return;
  const Window window{p.kernel, p.stride, p.padding};
  const auto bytes = [](std::int64_t elements, DType dtype) {
    return static_cast<std::size_t>(elements) * size_of(dtype);
  };
  const std::int64_t pixels = p.batch * window.outputs(p.height) * window.outputs(p.width);
  const auto type = [&](ConvolutionPass pass) { return p.pass == pass ? p.result : p.operands; };
  Watched x(bytes(p.batch * p.height * p.width * p.channels, type(ConvolutionPass::data_gradient)));
  Watched weights(
      bytes(p.filters * p.kernel * p.kernel * p.channels, type(ConvolutionPass::weight_gradient)));
  Watched y(bytes(pixels * p.filters, type(ConvolutionPass::forward)));
  Watched workspace(plan->workspace_bytes());
  plan->run({x.data(), weights.data(), y.data(), nullptr, workspace.data()});
  EXPECT_TRUE(x.intact() && weights.intact() && y.intact() && workspace.intact())
      << provider.name() << ": pass " << static_cast<int>(p.pass) << ", " << p.height << "x"
      << p.width << "x" << p.channels << "->" << p.filters << " " << p.kernel << "x" << p.kernel
      << "/" << p.stride << " " << name_of(p.operands);
}

TEST(ConvolutionProvider, WritesNothingOutsideItsOperands) {
  omp_set_num_threads(2);
  for (const ConvolutionProvider* provider : convolution_providers_for("auto")) {
    for (const DType dtype : {DType::f32, DType::bf16}) {
      for (const auto pass : {ConvolutionPass::forward, ConvolutionPass::data_gradient,
                              ConvolutionPass::weight_gradient}) {
        for (const Window& window : {Window{1, 1, 0}, Window{1, 2, 0}, Window{3, 1, 1},
                                     Window{3, 2, 1}, Window{7, 2, 3}}) {
          for (const std::int64_t channels : {2, 3, 16, 33}) {
            expect_confined(
                *provider,
                {.pass = pass,
                 .batch = 2,
                 .height = 14,
                 .width = 14,
                 .channels = channels,
                 .filters = 2 * channels,
                 .kernel = window.kernel,
                 .stride = window.stride,
                 .padding = window.padding,
                 .operands = dtype,
                 .result = pass == ConvolutionPass::weight_gradient ? DType::f32 : dtype});
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace trainbench
