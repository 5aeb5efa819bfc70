#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/check/check_backend.h"
#include "gpu/cuda_backend.h"
#include "tests/gpu/device_values.h"

// What is particular to these kernels: ends of vectors, misaligned starts, rows and sums that take
// more than one block. The operations themselves are tested in tests/ops.

namespace trainbench {
namespace {

constexpr DType kFloatTypes[] = {DType::f16, DType::bf16, DType::f32, DType::f64};

class Kernels : public testing::TestWithParam<std::int64_t> {
 protected:
  std::int64_t offset() const { return GetParam(); }
  Tensor make(const Shape& shape, DType dtype, std::uint64_t stream) {
    return random_tensor(*backend_, shape, dtype, stream, offset());
  }
  Tensor state(const StepState& value) { return allocate_step_state(*backend_, value); }
  void expect_right() const {
    EXPECT_TRUE(check_.summary().passed) << check_.summary().worst;
    EXPECT_GT(check_.summary().outputs, 0);
  }

  std::unique_ptr<Backend> backend_ = make_cuda_backend();
  CheckBackend check_{*backend_};
};

TEST_P(Kernels, CastsOfAnyLength) {
  for (const std::int64_t count : {1, 3, 4, 257, 4099}) {
    for (const DType from : kFloatTypes) {
      const Tensor x = make(Shape{count}, from, 1);
      for (const DType to : kFloatTypes) check_.cast(x, make(Shape{count}, to, 2));
    }
  }
  expect_right();
}

TEST_P(Kernels, BytesOfAnyLength) {
  for (const std::int64_t count : {1, 5, 1030}) {
    const Tensor bytes =
        backend_->allocate(Shape{count + offset()}, DType::u8, MemoryKind::activations);
    std::vector<double> values(static_cast<std::size_t>(count + offset()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i * 37 % 256);
    write_values(*backend_, bytes, values);
    for (const DType to : kFloatTypes) {
      check_.normalize_bytes(bytes.range(offset(), count), make(Shape{count}, to, 1), 0.011f,
                             -0.81f);
    }
  }
  expect_right();
}

TEST_P(Kernels, ColumnSumsInOneStageAndInTwo) {
  for (const auto& [rows, columns] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {7, 10}, {130, 8}, {1000, 131}, {515, 260}}) {
    for (const DType dtype : kFloatTypes) {
      const DType master = dtype == DType::f64 ? DType::f64 : DType::f32;
      check_.bias_gradient(make(Shape{rows, columns}, dtype, 1), make(Shape{columns}, master, 2));
    }
  }
  expect_right();
}

TEST_P(Kernels, SoftmaxOfShortAndOfLongRows) {
  const Tensor s = state({.loss_scale = 128});
  for (const std::int64_t classes : {1, 2, 10, 33, 1024, 1500}) {
    constexpr std::int64_t kRows = 9;
    const Tensor labels = backend_->allocate(Shape{kRows}, DType::i32, MemoryKind::activations);
    std::vector<double> values(kRows);
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<double>(static_cast<std::int64_t>(i) * 7 % classes);
    }
    write_values(*backend_, labels, values);
    for (const DType dtype : kFloatTypes) {
      const DType master = dtype == DType::f64 ? DType::f64 : DType::f32;
      const Tensor logits = make(Shape{kRows, classes}, dtype, 1);
      const Tensor losses = make(Shape{kRows}, master, 2);
      check_.softmax_cross_entropy(logits, labels, losses, make(logits.shape, dtype, 3), s);
      check_.mean(losses, make(Shape{1}, master, 4));
    }
  }
  expect_right();
}

TEST_P(Kernels, ALabelOutOfRangeGivesNan) {
  const Tensor logits = make(Shape{3, 4}, DType::f32, 1);
  const Tensor labels = backend_->allocate(Shape{3}, DType::i32, MemoryKind::activations);
  write_values(*backend_, labels, {-1, 3, 4});
  const Tensor losses = make(Shape{3}, DType::f32, 2);
  backend_->softmax_cross_entropy(logits, labels, losses, {}, state({}));
  const std::vector<double> values = read_values(*backend_, losses);
  EXPECT_TRUE(std::isnan(values[0]));
  EXPECT_TRUE(std::isfinite(values[1]));
  EXPECT_TRUE(std::isnan(values[2]));
}

TEST_P(Kernels, UpdatesOfAnyLength) {
  const Tensor s = state({.learning_rate = 0.01f, .loss_scale = 4, .step = 3});
  for (const std::int64_t count : {1, 6, 1027}) {
    for (const DType master : {DType::f32, DType::f64}) {
      for (const bool copies : {false, true}) {
        if (copies && master == DType::f64) continue;
        const auto update = [&] {
          return ParameterUpdate{make(Shape{count}, master, 1),
                                 copies ? make(Shape{count}, DType::bf16, 2) : Tensor{},
                                 make(Shape{count}, master, 3)};
        };
        const Tensor second = make(Shape{count}, master, 5);
        backend_->fill_zero(second);
        check_.sgd({.momentum = 0.9, .weight_decay = 0.1}, update(), make(Shape{count}, master, 4),
                   s);
        check_.adamw({.weight_decay = 0.1}, update(), make(Shape{count}, master, 4), second, s);
      }
    }
  }
  expect_right();
}

TEST_P(Kernels, EveryNonFiniteGradientIsFound) {
  constexpr std::int64_t kCount = 1027;
  const Tensor gradients = make(Shape{kCount}, DType::f32, 1);
  const std::vector<double> finite = read_values(*backend_, gradients);
  const Tensor s = state({});
  backend_->check_finite(gradients, s);
  EXPECT_EQ(read_step_state(*backend_, s).nonfinite, 0);
  for (const double planted : {std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity(), std::nan("")}) {
    for (const std::size_t at : {std::size_t{0}, std::size_t{511}, std::size_t{1023},
                                 std::size_t{1024}, std::size_t{1026}}) {
      std::vector<double> values = finite;
      values[at] = planted;
      write_values(*backend_, gradients, values);
      const Tensor found = state({});
      backend_->check_finite(gradients, found);
      EXPECT_EQ(read_step_state(*backend_, found).nonfinite, 1) << planted << " at " << at;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, Kernels, testing::Values(0, 1), [](const auto& test) {
  return std::string(test.param == 0 ? "aligned" : "misaligned");
});

// A gradient overflows in fp16: the step is left out and the scale halved.
TEST(LossScale, AnInfiniteGradientSkipsTheStepAndHalvesTheScale) {
  const auto backend = make_cuda_backend();
  const Shape shape{70};
  const ParameterUpdate update{random_tensor(*backend, shape, DType::f32, 1),
                               random_tensor(*backend, shape, DType::f16, 1),
                               random_tensor(*backend, shape, DType::f32, 2)};
  const Tensor velocity = random_tensor(*backend, shape, DType::f32, 3);
  const LossScaling scaling{.enabled = true, .growth_interval = 2};
  const Tensor state = allocate_step_state(*backend, {.learning_rate = 0.1f, .loss_scale = 1024});
  const auto step = [&] {
    backend->check_finite(update.gradient, state);
    backend->sgd({}, update, velocity, state);
    backend->finish_step(scaling, state);
    return read_step_state(*backend, state);
  };
  const std::vector<double> gradients = read_values(*backend, update.gradient);
  const std::vector<double> weights = read_values(*backend, update.master);
  const std::vector<double> copies = read_values(*backend, update.weights);
  const std::vector<double> velocities = read_values(*backend, velocity);
  const Tensor gradient(const_cast<void*>(update.gradient.data), shape, DType::f32);

  std::vector<double> planted = gradients;
  planted[69] = std::numeric_limits<double>::infinity();
  write_values(*backend, gradient, planted);
  const StepState skipped = step();
  EXPECT_EQ(skipped.loss_scale, 512);
  EXPECT_EQ(skipped.skipped_steps, 1);
  EXPECT_EQ(skipped.step, 0);
  EXPECT_EQ(skipped.nonfinite, 0);
  EXPECT_EQ(read_values(*backend, update.master), weights);
  EXPECT_EQ(read_values(*backend, update.weights), copies);
  EXPECT_EQ(read_values(*backend, velocity), velocities);

  write_values(*backend, gradient, gradients);
  EXPECT_EQ(step().step, 1);
  EXPECT_NE(read_values(*backend, update.master), weights);
  const StepState grown = step();
  EXPECT_EQ(grown.loss_scale, 1024) << "after growth_interval clean steps";
  EXPECT_EQ(grown.clean_steps, 0);
}

}  // namespace
}  // namespace trainbench
