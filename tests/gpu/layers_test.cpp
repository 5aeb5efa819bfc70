#include <gtest/gtest.h>

#include <cmath>

#include "common/check/check_backend.h"
#include "gpu/cuda_backend.h"
#include "tests/gpu/device_values.h"

// What is particular to the kernels of layers: rows that are whole 16-byte accesses, of which
// several blocks, or one, are full; the tests of tests/ops have rows of any length at odd places.

namespace trainbench {
namespace {

constexpr DType kFloatTypes[] = {DType::f16, DType::bf16, DType::f32, DType::f64};

DType master_of(DType dtype) { return dtype == DType::f64 ? DType::f64 : DType::f32; }

class Layers : public testing::TestWithParam<DType> {
 protected:
  DType dtype() const { return GetParam(); }
  Tensor make(const Shape& shape, DType of) {
    return random_tensor(*backend_, shape, of, ++stream_);
  }
  Tensor make(const Shape& shape) { return make(shape, dtype()); }
  Tensor master(const Shape& shape) { return make(shape, master_of(dtype())); }
  NormWeights weights(std::int64_t channels) {
    return {make(Shape{channels}), make(Shape{channels})};
  }
  NormGradients gradients(std::int64_t channels) {
    return {master(Shape{channels}), master(Shape{channels})};
  }
  void TearDown() override {
    EXPECT_TRUE(check_.summary().passed) << check_.summary().worst;
    EXPECT_GT(check_.summary().outputs, 0);
  }

  std::unique_ptr<Backend> backend_ = make_cuda_backend();
  CheckBackend check_{*backend_};

 private:
  std::uint64_t stream_ = 0;
};

TEST_P(Layers, SumsOfTensors) {
  for (const std::int64_t count : {1, 4099}) {
    check_.add(make(Shape{count}), make(Shape{count}), make(Shape{count}));
  }
}

TEST_P(Layers, BatchNorm) {
  // Rows of two packs and of more than a block's strip; sums of one block and of several.
  for (const Shape& shape : {Shape{2, 3, 5, 16}, Shape{4, 16, 40, 24}, Shape{2, 9, 9, 544}}) {
    const std::int64_t channels = shape[3];
    const BatchNormState state{master(Shape{channels}), master(Shape{channels}),
                               master(Shape{channels}), master(Shape{channels})};
    backend_->fill_zero(state.running_variance);
    const BatchNormOptions options{.activation = Activation::relu};
    const Tensor x = make(shape);
    const Tensor y = make(shape);
    const NormWeights norm = weights(channels);
    check_.batch_norm(options, x, norm, make(shape), state, y);
    check_.batch_norm_evaluate(options, x, norm, {}, state, make(shape));
    check_.batch_norm_backward(options, x, y, make(shape), norm.gamma, state, make(shape),
                               make(shape), gradients(channels));
  }
}

TEST_P(Layers, Pools) {
  const Window window{3, 2, 1};
  for (const Shape& shape : {Shape{2, 7, 9, 16}, Shape{1, 8, 8, 544}}) {
    const Shape pooled{shape[0], window.outputs(shape[1]), window.outputs(shape[2]), shape[3]};
    const Tensor chosen = backend_->allocate(pooled, DType::u8, MemoryKind::activations);
    check_.max_pool(window, make(shape), make(pooled), chosen);
    check_.max_pool_backward(window, chosen, make(pooled), make(shape));
    const Shape means{shape[0], shape[3]};
    check_.average_pool(make(shape), make(means));
    check_.average_pool_backward(make(means), make(shape));
  }
}

TEST_P(Layers, LayerNorm) {
  // A warp's rows and a block's; rows whose last columns no register holds.
  for (const Shape& shape : {Shape{37, 64}, Shape{1200, 96}, Shape{5, 1200}, Shape{3, 8448}}) {
    const Shape rows{shape[0]};
    const Tensor x = make(shape);
    const NormWeights norm = weights(shape[1]);
    const Tensor mean = master(rows);
    const Tensor inverse = master(rows);
    check_.layer_norm(1e-5, x, make(shape), norm, mean, inverse, make(shape));
    check_.layer_norm_backward(x, make(shape), norm.gamma, mean, inverse, make(shape), make(shape),
                               gradients(shape[1]));
  }
}

TEST_P(Layers, GroupNorm) {
  // Groups inside a pack and over several; an image in one block's sums and in several.
  for (const auto& [shape, groups] :
       {std::pair(Shape{2, 3, 5, 32}, 8), {Shape{3, 4, 4, 544}, 2}, {Shape{1, 32, 48, 64}, 8}}) {
    for (const Activation activation : {Activation::none, Activation::silu}) {
      const GroupNormOptions options{.groups = groups, .activation = activation};
      const Shape statistics{shape[0], groups};
      const Tensor x = make(shape);
      const NormWeights norm = weights(shape[3]);
      const Tensor mean = master(statistics);
      const Tensor inverse = master(statistics);
      check_.group_norm(options, x, norm, mean, inverse, make(shape));
      check_.group_norm_backward(options, x, make(shape), norm, mean, inverse,
                                 activation == Activation::none, make(shape), gradients(shape[3]));
    }
  }
}

TEST_P(Layers, MovesRows) {
  const Shape small{2, 3, 5, 48};
  const Shape large{2, 6, 10, 48};
  check_.upsample(make(small), make(large));
  check_.upsample_backward(make(large), make(small));
  const Tensor a = make(Shape{35, 48});
  const Tensor b = make(Shape{35, 16});
  const Tensor y = make(Shape{35, 64});
  check_.concat(a, b, y);
  check_.split(y, a, b);
}

TEST_P(Layers, DrawsRandomNumbers) {
  const Tensor state = allocate_step_state(*backend_, {.step = 5, .seed = 99});
  for (const std::int64_t count : {1, 4096, 4099}) {
    check_.dropout({.rate = 0.3, .layer = 2}, make(Shape{count}), state);
  }
  const Shape shape{5, 8, 8, 1};
  constexpr std::int64_t kSteps = 10;
  const Tensor bytes = backend_->allocate(shape, DType::u8, MemoryKind::activations);
  std::vector<double> pixels(static_cast<std::size_t>(shape.elements()));
  for (std::size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<double>(i * 37 % 256);
  write_values(*backend_, bytes, pixels);
  const auto table = [&] {  // square roots are positive
    const Tensor positive = make(Shape{kSteps}, DType::f32);
    std::vector<double> values = read_values(*backend_, positive);
    for (double& value : values) value = std::abs(value);
    write_values(*backend_, positive, values);
    return positive;
  };
  const DiffusionTables tables{table(), table(), make(Shape{65536}, DType::f32)};
  const Tensor times = backend_->allocate(Shape{shape[0]}, DType::i32, MemoryKind::activations);
  check_.diffuse(bytes, 0x1p-7f, -1, tables, state, make(shape), make(shape), times);
}

TEST_P(Layers, SquaredErrors) {
  const Tensor state = allocate_step_state(*backend_, {.loss_scale = 64});
  for (const Shape& shape : {Shape{3, 16}, Shape{2, 33, 32, 4}}) {
    check_.mean_squared_error(make(shape), make(shape), master(Shape{shape[0]}), make(shape),
                              state);
  }
}

INSTANTIATE_TEST_SUITE_P(Gpu, Layers, testing::ValuesIn(kFloatTypes),
                         [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
}  // namespace trainbench
