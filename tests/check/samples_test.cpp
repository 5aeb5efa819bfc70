#include "common/check/samples.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace trainbench {
namespace {

TEST(Samples, TakeEveryElementOfASmallResult) {
  const auto positions = sample_positions(100, 10, 4096, Philox(1, 0));
  ASSERT_EQ(positions.size(), 100u);
  for (std::int64_t i = 0; i < 100; ++i) EXPECT_EQ(positions[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(sample_positions(4096, 64, 4096, Philox(1, 0)).size(), 4096u);
  EXPECT_TRUE(sample_positions(0, 1, 4096, Philox(1, 0)).empty());
}

TEST(Samples, AreAtLeastTheCountAllDifferentAndInside) {
  for (const std::int64_t elements : {4097, 5000, 8191, 8192, 1000003}) {
    const auto positions = sample_positions(elements, elements, 4096, Philox(3, 1));
    EXPECT_GE(positions.size(), 4096u) << elements;
    EXPECT_EQ(std::set(positions.begin(), positions.end()).size(), positions.size());
    EXPECT_TRUE(std::is_sorted(positions.begin(), positions.end()));
    EXPECT_GE(positions.front(), 0);
    EXPECT_LT(positions.back(), elements);
  }
}

TEST(Samples, IncludeTheCorners) {
  constexpr std::int64_t kRows = 300;
  constexpr std::int64_t kColumns = 70;
  const auto positions = sample_positions(kRows * kColumns, kColumns, 4096, Philox(3, 2));
  for (const std::int64_t corner :
       {std::int64_t{0}, kColumns - 1, (kRows - 1) * kColumns, kRows * kColumns - 1}) {
    EXPECT_TRUE(std::binary_search(positions.begin(), positions.end(), corner)) << corner;
  }
}

// A block of wrong elements twice as long as a stretch holds one stretch whole.
TEST(Samples, LeaveNoLongGap) {
  constexpr std::int64_t kElements = 1000000;
  const auto positions = sample_positions(kElements, 1000, 4096, Philox(9, 0));
  for (std::size_t i = 1; i < positions.size(); ++i) {
    EXPECT_LT(positions[i] - positions[i - 1], 2 * (kElements / 4096 + 1));
  }
}

TEST(Samples, DependOnTheStream) {
  EXPECT_NE(sample_positions(100000, 100, 4096, Philox(1, 0)),
            sample_positions(100000, 100, 4096, Philox(1, 1)));
  EXPECT_EQ(sample_positions(100000, 100, 4096, Philox(1, 0)),
            sample_positions(100000, 100, 4096, Philox(1, 0)));
}

}  // namespace
}  // namespace trainbench
