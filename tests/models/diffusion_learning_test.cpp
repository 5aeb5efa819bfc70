// How far the loss of a narrow model falls on real data.

#include "tests/models/diffusion_learning.h"

namespace trainbench {
namespace {

// A network that predicts no noise at all has a loss of 1.
TEST_F(DiffusionLearning, ANarrowModelLearnsFashionMnist) {
  EXPECT_LT(diffusion_loss_after({{"width", 16}}, 100), 0.25);
}

}  // namespace
}  // namespace trainbench
