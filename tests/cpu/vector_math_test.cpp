#include "cpu/vector_math.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/core/dtype.h"

namespace trainbench {
namespace {

// The reduced argument errs by one rounding of |r| <= 0.35, the polynomial's last two additions by
// one each, the reduction's constants and the polynomial itself by less than one together.
TEST(VectorExp, IsWithinFourRoundingsOverItsRange) {
  const double bound = 4 * unit_roundoff(DType::f32);
  double worst = 0;
  for (float x = -87.3f; x < 88.3f; x += 0.000713f) {
    const double exact = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(static_cast<double>(vector_exp(x)) - exact) / exact);
  }
  EXPECT_LE(worst, bound);
  EXPECT_EQ(vector_exp(0.0f), 1.0f);
}

TEST(VectorExp, SaturatesAndKeepsNaN) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_LT(vector_exp(-infinity), 1.3e-38f);
  EXPECT_GE(vector_exp(-infinity), 0.0f);
  EXPECT_GT(vector_exp(infinity), 2.3e38f);
  EXPECT_TRUE(std::isfinite(vector_exp(infinity)));
  EXPECT_TRUE(std::isnan(vector_exp(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace trainbench
