// Libraries write where they were told to, and nowhere else: results, and the workspace whose size
// they name. Minimal filtering computes what the definition says.

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <random>
#include <vector>

#include "common/core/dtype.h"
#include "cpu/providers.h"
#include "cpu/providers/winograd.h"

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

/// Numbers in [-1, 1].
std::vector<float> random_numbers(std::int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> numbers(static_cast<std::size_t>(count));
  std::generate(numbers.begin(), numbers.end(), [&] { return uniform(random); });
  return numbers;
}

/// The pass by its definition, in double.
std::vector<double> by_definition(const ConvolutionProblem& p, const std::vector<float>& x,
                                  const std::vector<float>& weights, const std::vector<float>& y,
                                  std::size_t results) {
  std::vector<double> sums(results);
  const Window window{p.kernel, p.stride, p.padding};
  const std::int64_t out_height = window.outputs(p.height), out_width = window.outputs(p.width);
  const auto term = [&](std::int64_t xi, std::int64_t wi, std::int64_t yi) {
    const auto i = static_cast<std::size_t>(xi), j = static_cast<std::size_t>(wi),
               k = static_cast<std::size_t>(yi);
    if (p.pass == ConvolutionPass::forward) {
      sums[k] += static_cast<double>(x[i]) * static_cast<double>(weights[j]);
    } else if (p.pass == ConvolutionPass::data_gradient) {
      sums[i] += static_cast<double>(y[k]) * static_cast<double>(weights[j]);
    } else {
      sums[j] += static_cast<double>(x[i]) * static_cast<double>(y[k]);
    }
  };
  for (std::int64_t o = 0; o < p.batch * out_height * out_width; ++o) {
    const std::int64_t b = o / out_width / out_height;
    for (std::int64_t tap = 0; tap < p.kernel * p.kernel; ++tap) {
      const std::int64_t h = o / out_width % out_height * p.stride - p.padding + tap / p.kernel;
      const std::int64_t w = o % out_width * p.stride - p.padding + tap % p.kernel;
      if (h < 0 || h >= p.height || w < 0 || w >= p.width) continue;
      for (std::int64_t f = 0; f < p.filters; ++f) {
        for (std::int64_t c = 0; c < p.channels; ++c) {
          term(((b * p.height + h) * p.width + w) * p.channels + c,
               (f * p.kernel * p.kernel + tap) * p.channels + c, o * p.filters + f);
        }
      }
    }
  }
  return sums;
}

void expect_filtered(const ConvolutionProblem& p) {
  const auto plan = winograd_provider().plan(p);
  ASSERT_NE(plan, nullptr);
  const Window window{p.kernel, p.stride, p.padding};
  const std::int64_t tiles =
      p.batch * ((window.outputs(p.height) + 1) / 2) * ((window.outputs(p.width) + 1) / 2);
  std::vector<float> x = random_numbers(p.batch * p.height * p.width * p.channels, 1);
  std::vector<float> weights = random_numbers(p.filters * 9 * p.channels, 2);
  std::vector<float> y =
      random_numbers(p.batch * window.outputs(p.height) * window.outputs(p.width) * p.filters, 3);
  std::vector<float> bias = random_numbers(p.filters, 4);
  std::vector<float>& result = p.pass == ConvolutionPass::forward         ? y
                               : p.pass == ConvolutionPass::data_gradient ? x
                                                                          : weights;
  std::vector<double> expected = by_definition(p, x, weights, y, result.size());
  if (p.bias) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      expected[i] += static_cast<double>(bias[i % bias.size()]);
    }
  }
  std::vector<std::byte> workspace(plan->workspace_bytes());
  plan->run({x.data(), weights.data(), y.data(), p.bias ? bias.data() : nullptr, workspace.data()});

  // A place of a tile sums its terms; the transforms of pixels of at most 1, of taps and to outputs
  // add numbers up to 64 times as large, or 36 times for the weights' gradient, in ten additions.
  const bool of_weights = p.pass == ConvolutionPass::weight_gradient;
  const auto terms = static_cast<double>(
      of_weights ? tiles : (p.pass == ConvolutionPass::forward ? p.channels : p.filters));
  const double tolerance =
      (terms + 10) * unit_roundoff(DType::f32) * (of_weights ? 36 : 64) * (terms + 1);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(result[i]), expected[i], tolerance)
        << "pass " << static_cast<int>(p.pass) << ", element " << i << " of " << p.batch << "x"
        << p.height << "x" << p.width << "x" << p.channels << "->" << p.filters << ", padding "
        << p.padding;
  }
}

// Odd and even extents, so that tiles reach over the border; channels of less than, exactly and
// more than a panel; more tiles than a block and threads than blocks.
TEST(Winograd, ComputesTheConvolution) {
  for (const int threads : {1, 3}) {
    omp_set_num_threads(threads);
    for (const auto pass : {ConvolutionPass::forward, ConvolutionPass::data_gradient,
                            ConvolutionPass::weight_gradient}) {
      for (const std::int64_t padding : {0, 1, 2}) {
        for (const auto& [height, width, channels, filters] :
             {std::array<std::int64_t, 4>{3, 4, 16, 16},
              {7, 5, 32, 80},
              {6, 9, 128, 16},
              {31, 30, 16, 32}}) {
          expect_filtered({.pass = pass,
                           .batch = 2,
                           .height = height,
                           .width = width,
                           .channels = channels,
                           .filters = filters,
                           .kernel = 3,
                           .stride = 1,
                           .padding = padding,
                           .bias = pass == ConvolutionPass::forward && padding == 1});
        }
      }
    }
  }
}

TEST(Winograd, LeavesTheRestToOthers) {
  const ConvolutionProblem served{.batch = 1,
                                  .height = 8,
                                  .width = 8,
                                  .channels = 16,
                                  .filters = 16,
                                  .kernel = 3,
                                  .stride = 1,
                                  .padding = 1};
  ASSERT_NE(winograd_provider().plan(served), nullptr);
  ConvolutionProblem other = served;
  other.stride = 2;
  EXPECT_EQ(winograd_provider().plan(other), nullptr);
  other = served;
  other.channels = 3;
  EXPECT_EQ(winograd_provider().plan(other), nullptr);
  other = served;
  other.operands = DType::bf16;
  EXPECT_EQ(winograd_provider().plan(other), nullptr);
}

}  // namespace
}  // namespace trainbench
