// The same for the operations on images that a diffusion model adds.

#include "tests/check/spoiling_backend.h"

namespace trainbench {
namespace {

class SpoilingImages : public SpoilingBackend {
 public:
  using SpoilingBackend::SpoilingBackend;

  void add(ConstTensor a, ConstTensor b, Tensor y) override {
    inner_.add(a, b, y);
    maybe("add", y);
  }
  void dropout(const DropoutOptions& options, Tensor x, ConstTensor state) override {
    inner_.dropout(options, x, state);
    maybe("dropout", x);
  }
  void upsample(ConstTensor x, Tensor y) override {
    inner_.upsample(x, y);
    maybe("upsample", y);
  }
  void upsample_backward(ConstTensor dy, Tensor dx) override {
    inner_.upsample_backward(dy, dx);
    maybe("upsample_backward", dx);
  }
  void concat(ConstTensor a, ConstTensor b, Tensor y) override {
    inner_.concat(a, b, y);
    maybe("concat", y);
  }
  void split(ConstTensor y, Tensor a, Tensor b) override {
    inner_.split(y, a, b);
    maybe("split.a", a);
    maybe("split.b", b);
  }
  void group_norm(const GroupNormOptions& options, ConstTensor x, const NormWeights& weights,
                  Tensor mean, Tensor inverse, Tensor y) override {
    inner_.group_norm(options, x, weights, mean, inverse, y);
    maybe("group_norm.mean", mean);
    maybe("group_norm.inverse", inverse);
    maybe("group_norm.y", y);
  }
  void group_norm_backward(const GroupNormOptions& options, ConstTensor x, ConstTensor dy,
                           const NormWeights& weights, ConstTensor mean, ConstTensor inverse,
                           bool accumulate, Tensor dx, const NormGradients& gradients) override {
    inner_.group_norm_backward(options, x, dy, weights, mean, inverse, accumulate, dx, gradients);
    maybe("group_norm_backward.dx", dx);
    maybe("group_norm_backward.dgamma", gradients.gamma);
    maybe("group_norm_backward.dbeta", gradients.beta);
  }
  void mean_squared_error(ConstTensor prediction, ConstTensor target, Tensor losses,
                          Tensor gradient, ConstTensor state) override {
    inner_.mean_squared_error(prediction, target, losses, gradient, state);
    maybe("mean_squared_error.losses", losses);
    maybe("mean_squared_error.gradient", gradient);
  }
  void diffuse(ConstTensor bytes, float scale, float shift, const DiffusionTables& tables,
               ConstTensor state, Tensor noisy, Tensor noise, Tensor times) override {
    inner_.diffuse(bytes, scale, shift, tables, state, noisy, noise, times);
    maybe("diffuse.noisy", noisy);
    maybe("diffuse.noise", noise);
    maybe("diffuse.times", times);
  }
};

void run_images(Backend& backend, Backend& memory, std::int64_t rows, std::int64_t columns,
                DType dtype) {
  const DType master = dtype == DType::f64 ? DType::f64 : DType::f32;
  const auto fresh = [&](Shape shape, DType type) {
    return memory.allocate(shape, type, MemoryKind::workspace);
  };
  std::uint64_t stream = 100;
  const auto random = [&](Shape shape, DType type) {
    return random_tensor(memory, shape, type, ++stream);
  };
  const Shape images{3, rows / 3, 1, columns};
  const Shape doubled{3, 2 * (rows / 3), 2, columns};
  const Tensor x = random(images, dtype);
  const Tensor state = allocate_step_state(memory, {.step = 3, .seed = 4});

  backend.add(x, random(images, dtype), fresh(images, dtype));
  backend.dropout({.rate = 0.3}, random(images, dtype), state);
  backend.upsample(x, fresh(doubled, dtype));
  backend.upsample_backward(random(doubled, dtype), fresh(images, dtype));
  const Tensor joined = fresh({rows, 2 * columns}, dtype);
  backend.concat(random({rows, columns}, dtype), random({rows, columns}, dtype), joined);
  backend.split(joined, fresh({rows, columns}, dtype), fresh({rows, columns}, dtype));
  const GroupNormOptions options{.groups = 1, .activation = Activation::silu};
  const NormWeights weights{random({columns}, dtype), random({columns}, dtype)};
  const Tensor mean = fresh({3, 1}, master);
  const Tensor inverse = fresh({3, 1}, master);
  backend.group_norm(options, x, weights, mean, inverse, fresh(images, dtype));
  backend.group_norm_backward(options, x, random(images, dtype), weights, mean, inverse, true,
                              random(images, dtype),
                              {fresh({columns}, master), fresh({columns}, master)});
  backend.mean_squared_error(x, random(images, dtype), fresh({3}, master), fresh(images, dtype),
                             state);
  const DiffusionTables tables{random({10}, DType::f32), random({10}, DType::f32),
                               random({65536}, DType::f32)};
  backend.diffuse(random_tensor(memory, images, DType::u8, 99, 0, 256), 0.01f, -1, tables, state,
                  fresh(images, dtype), fresh(images, dtype), fresh({3}, DType::i32));
}

const char* const kResults[] = {"add",
                                "dropout",
                                "upsample",
                                "upsample_backward",
                                "concat",
                                "split.a",
                                "split.b",
                                "group_norm.mean",
                                "group_norm.inverse",
                                "group_norm.y",
                                "group_norm_backward.dx",
                                "group_norm_backward.dgamma",
                                "group_norm_backward.dbeta",
                                "mean_squared_error.losses",
                                "mean_squared_error.gradient",
                                "diffuse.noisy",
                                "diffuse.noise",
                                "diffuse.times"};

class PlantedImages : public testing::TestWithParam<const char*> {};

TEST_P(PlantedImages, OneWrongElementOfASmallResultFailsItAlone) {
  expect_to_fail_alone<SpoilingImages>(run_images, GetParam());
}

TEST_P(PlantedImages, AFractionOfALargeResultFails) {
  expect_a_fraction_to_fail<SpoilingImages>(run_images, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Results, PlantedImages, testing::ValuesIn(kResults));

TEST(PlantedImages, NothingFailsUnspoilt) { expect_to_pass_unspoilt(run_images); }

}  // namespace
}  // namespace trainbench
