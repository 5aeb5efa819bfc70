#include "tests/ops/op_test.h"

namespace trainbench {
namespace {

constexpr std::uint64_t kSeed = 0x123456789abcdefull;
constexpr std::int32_t kStep = 5;

/// Word `index` of a step's stream, by the generator's definition.
std::uint32_t word_of(std::uint64_t source, std::uint64_t index) {
  return Philox(kSeed, source + (std::uint64_t{kStep} << 32)).word(index);
}

class NoiseTest : public OpTest {
 protected:
  Tensor state() { return allocate_step_state(backend(), {.step = kStep, .seed = kSeed}); }
};

TEST_P(NoiseTest, DropsWhatItsWordSaysAndScalesTheRest) {
  for (const double rate : {0.0, 0.1, 0.5}) {
    for (const std::int64_t count : {1, 6, 515, 20003}) {
      const Tensor x = random({count}, compute());
      Values expected = values(x);
      Values tolerance;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const bool falls = static_cast<double>(word_of(0x80000003u, i)) < rate * 0x1p32;
        expected[i] = falls ? 0 : expected[i] / (1 - rate);
        tolerance.push_back(2 * arithmetic_roundoff(compute()) * std::abs(expected[i]) +
                            storage_tolerance(compute(), expected[i]));
      }
      backend().dropout({.rate = rate, .layer = 3}, x, state());
      expect_near(x, expected, tolerance);
    }
  }
}

// 1 / 2 of 20,000 elements fall, to within five standard deviations of 71.
TEST_P(NoiseTest, DropsItsRateOfTheElements) {
  const Tensor x = guarded({20000}, compute(), Values(20000, 1.0));
  backend().dropout({.rate = 0.5}, x, state());
  const Values kept = values(x);
  EXPECT_NEAR(std::count(kept.begin(), kept.end(), 0.0), 10000, 5 * 71);
}

TEST_P(NoiseTest, ALayerAndAStepDropOtherElements) {
  const auto dropped = [&](std::uint32_t layer, std::int32_t step) {
    const Tensor x = guarded({64}, compute(), Values(64, 1.0));
    backend().dropout({.rate = 0.5, .layer = layer}, x,
                      allocate_step_state(backend(), {.step = step, .seed = kSeed}));
    return values(x);
  };
  EXPECT_EQ(dropped(1, 2), dropped(1, 2));
  EXPECT_NE(dropped(1, 2), dropped(2, 2));
  EXPECT_NE(dropped(1, 2), dropped(1, 3));
}

TEST_P(NoiseTest, MixesImagesWithNoiseByTheirTimes) {
  constexpr std::int64_t kSteps = 10;
  for (const Shape& shape : {Shape{1, 1, 1, 1}, Shape{3, 5, 3, 1}, Shape{16, 32, 32, 1}}) {
    const Tensor bytes = random(shape, DType::u8, 0, 256);
    const Tensor signal = random({kSteps}, DType::f32, 0, 1);
    const Tensor noise = random({kSteps}, DType::f32, 0, 1);
    const Tensor normal = random({65536}, DType::f32, -4, 4);
    const Tensor noisy = guarded(shape, compute());
    const Tensor drawn = guarded(shape, compute());
    const Tensor times = guarded({shape[0]}, DType::i32);
    backend().diffuse(bytes, 0x1p-7f, -1, {signal, noise, normal}, state(), noisy, drawn, times);

    const Values pixels = values(bytes);
    const Values signals = values(signal);
    const Values noises = values(noise);
    const Values quantiles = values(normal);
    Values expected_times;
    for (std::size_t b = 0; b < static_cast<std::size_t>(shape[0]); ++b) {
      expected_times.push_back(
          std::floor(static_cast<double>(word_of(0xffffffffu, b)) * kSteps * 0x1p-32));
    }
    Values expected, tolerance, expected_noise, noise_tolerance;
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      const std::uint32_t word = word_of(0xfffffffeu, i / 2);
      const double value = quantiles[i % 2 == 0 ? word & 0xffffu : word >> 16];
      const auto time =
          static_cast<std::size_t>(expected_times[i / (pixels.size() / expected_times.size())]);
      const double x = pixels[i] * 0x1p-7 - 1;
      expected_noise.push_back(value);
      noise_tolerance.push_back(storage_tolerance(compute(), value));
      expected.push_back(signals[time] * x + noises[time] * value);
      tolerance.push_back(3 * arithmetic_roundoff(compute()) *
                              (std::abs(signals[time] * x) + std::abs(noises[time] * value)) +
                          storage_tolerance(compute(), expected.back()));
    }
    expect_equal(times, expected_times);
    expect_near(drawn, expected_noise, noise_tolerance);
    expect_near(noisy, expected, tolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, NoiseTest, testing::ValuesIn(op_params(test_devices())),
                         param_name);

}  // namespace
}  // namespace trainbench
