#include "common/core/shape.h"

#include <gtest/gtest.h>

namespace trainbench {
namespace {

TEST(Shape, CountsElements) {
  EXPECT_EQ(Shape{}.elements(), 1);
  EXPECT_EQ(Shape({7}).elements(), 7);
  EXPECT_EQ(Shape({2, 3, 5}).elements(), 30);
  EXPECT_EQ(Shape({4, 0}).elements(), 0);
  EXPECT_EQ(Shape({1 << 20, 1 << 20}).elements(), std::int64_t{1} << 40);
}

TEST(Shape, KnowsItsExtents) {
  const Shape shape{256, 784};
  EXPECT_EQ(shape.rank(), 2u);
  EXPECT_EQ(shape[0], 256);
  EXPECT_EQ(shape[1], 784);
  EXPECT_EQ(shape.to_string(), "[256, 784]");
  EXPECT_EQ(Shape{}.to_string(), "[]");
}

TEST(Shape, ComparesByRankAndExtents) {
  EXPECT_EQ(Shape({2, 3}), Shape({2, 3}));
  EXPECT_NE(Shape({2, 3}), Shape({3, 2}));
  EXPECT_NE(Shape({2}), Shape({2, 1}));
  EXPECT_NE(Shape{}, Shape({1}));
}

TEST(Shape, RefusesWhatIsNoShape) {
  EXPECT_THROW(Shape({1, 2, 3, 4, 5, 6}), std::logic_error);
  EXPECT_THROW(Shape({3, -1}), std::logic_error);
}

}  // namespace
}  // namespace trainbench
