#include "bench/commands/problem_tensors.h"
#include "bench/commands/verify_problems.h"

namespace trainbench {
namespace {

struct Images {
  std::int64_t images, height, width, channels, groups;

  Shape shape() const { return {images, height, width, channels}; }
  Shape doubled() const { return {images, 2 * height, 2 * width, channels}; }
  std::int64_t pixels() const { return images * height * width; }
};

constexpr Images kImages[] = {{1, 1, 1, 3, 3}, {3, 5, 7, 12, 4}, {2, 8, 8, 66, 2}};

class Problems : private ProblemTensors {
 public:
  using ProblemTensors::ProblemTensors;

  void run() {
    for (const Images& images : kImages) {
      resampling(images);
      norms(images);
      noise(images);
    }
  }

 private:
  void resampling(const Images& i) {
    via_.upsample(random(i.shape()), fresh(i.doubled()));
    via_.upsample_backward(random(i.doubled()), fresh(i.shape()));
    const Tensor joined = random({i.pixels(), i.channels + 5});
    const Tensor left = random({i.pixels(), i.channels});
    const Tensor right = random({i.pixels(), 5});
    via_.concat(left, right, joined);
    via_.split(joined, left, right);
    via_.add(left, random({i.pixels(), i.channels}), left);
    via_.add_bias(left, random({i.images, i.channels}));
    via_.bias_gradient(left, fresh_master({i.images, i.channels}));
  }

  void norms(const Images& i) {
    for (const Activation activation : {Activation::none, Activation::silu}) {
      const GroupNormOptions options{.groups = i.groups, .activation = activation};
      const Tensor x = random(i.shape(), precision_.compute, -1, 3);
      const NormWeights weights{random({i.channels}), random({i.channels})};
      const Tensor mean = fresh_master({i.images, i.groups});
      const Tensor inverse = fresh_master({i.images, i.groups});
      via_.group_norm(options, x, weights, mean, inverse, fresh(i.shape()));
      for (const bool accumulate : {false, true}) {
        via_.group_norm_backward(options, x, random(i.shape()), weights, mean, inverse, accumulate,
                                 random(i.shape()),
                                 {fresh_master({i.channels}), fresh_master({i.channels})});
      }
    }
  }

  void noise(const Images& i) {
    const Tensor state =
        allocate_step_state(memory_, {.loss_scale = 128, .step = 7, .seed = 0x123456789ull});
    via_.dropout({.rate = 0.2, .layer = 2}, random(i.shape()), state);
    const DiffusionTables tables{random({100}, DType::f32, 0, 1), random({100}, DType::f32, 0, 1),
                                 random({65536}, DType::f32, -4, 4)};
    const Tensor noisy = fresh(i.shape());
    const Tensor drawn = fresh(i.shape());
    via_.diffuse(random(i.shape(), DType::u8, 0, 256), 0.0078f, -1, tables, state, noisy, drawn,
                 fresh({i.images}, DType::i32));
    via_.mean_squared_error(noisy, drawn, fresh_master({i.images}), fresh(i.shape()), state);
  }
};

}  // namespace

void run_diffusion_operations(Backend& via, Backend& memory, const Precision& precision) {
  memory.require_precision(precision);
  Problems(via, memory, precision).run();
}

}  // namespace trainbench
