// The whole model: a training of some minutes.

#include "tests/models/diffusion_learning.h"

namespace trainbench {
namespace {

TEST_F(DiffusionLearning, TheLossFallsBelowATenthIn600Steps) {
  EXPECT_LT(diffusion_loss_after({}, 600), 0.1);
}

}  // namespace
}  // namespace trainbench
