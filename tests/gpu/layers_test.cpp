#include <gtest/gtest.h>

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

INSTANTIATE_TEST_SUITE_P(Gpu, Layers, testing::ValuesIn(kFloatTypes),
                         [](const auto& test) { return std::string(name_of(test.param)); });

}  // namespace
}  // namespace trainbench
