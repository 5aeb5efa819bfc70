#include "tests/ops/op_test.h"

namespace trainbench {
namespace {

using SquaredErrorTest = OpTest;

TEST_P(SquaredErrorTest, IsTheMeanOverASampleAndItsGradient) {
  const Shape shapes[] = {{1, 1}, {3, 17}, {5, 4, 4, 3}, {2, 33, 31, 1}};
  for (const Shape& shape : shapes) {
    for (const float scale : {1.0f, 1024.0f}) {
      const Tensor prediction = random(shape, compute());
      const Tensor target = random(shape, compute(), -2, 2);
      const Tensor state = allocate_step_state(backend(), {.loss_scale = scale});
      const Values x = values(prediction);
      const Values right = values(target);
      const double u = arithmetic_roundoff(compute());
      const auto batch = static_cast<std::size_t>(shape[0]);
      const std::size_t sample = x.size() / batch;
      Values losses(batch, 0.0), loss_tolerance, gradient, tolerance;
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double difference = x[i] - right[i];
        losses[i / sample] += difference * difference / static_cast<double>(sample);
        gradient.push_back(2 * difference * static_cast<double>(scale) /
                           static_cast<double>(x.size()));
        // The difference, its product with a factor that is rounded twice.
        tolerance.push_back(4 * u * std::abs(gradient[i]) +
                            storage_tolerance(compute(), gradient[i]));
      }
      // A square of a rounded difference errs by 3 u; all terms are positive.
      for (const double loss : losses) {
        loss_tolerance.push_back((static_cast<double>(sample) + 5) * u * loss +
                                 storage_tolerance(master(), loss));
      }
      const Tensor mean = guarded({shape[0]}, master());
      const Tensor slope = guarded(shape, compute());
      backend().mean_squared_error(prediction, target, mean, slope, state);
      expect_near(mean, losses, loss_tolerance);
      expect_near(slope, gradient, tolerance);
      const Tensor only_mean = guarded({shape[0]}, master());
      const Tensor only_slope = guarded(shape, compute());
      backend().mean_squared_error(prediction, target, only_mean, {}, state);
      backend().mean_squared_error(prediction, target, {}, only_slope, state);
      expect_near(only_mean, losses, loss_tolerance);
      expect_near(only_slope, gradient, tolerance);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, SquaredErrorTest, testing::ValuesIn(op_params(test_devices())),
                         param_name);

}  // namespace
}  // namespace trainbench
