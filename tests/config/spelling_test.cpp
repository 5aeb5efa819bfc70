#include "common/config/spelling.h"

#include <gtest/gtest.h>

namespace trainbench {
namespace {

TEST(EditDistance, CountsEachKindOfSlipOnce) {
  EXPECT_EQ(edit_distance("batch", "batch"), 0u);
  EXPECT_EQ(edit_distance("bach", "batch"), 1u);
  EXPECT_EQ(edit_distance("battch", "batch"), 1u);
  EXPECT_EQ(edit_distance("batxh", "batch"), 1u);
  EXPECT_EQ(edit_distance("bacth", "batch"), 1u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
}

TEST(EditDistance, IsSymmetric) {
  for (const char* a : {"", "ab", "abcd", "badc", "precision"}) {
    for (const char* b : {"x", "ba", "dcba", "persicion"}) {
      EXPECT_EQ(edit_distance(a, b), edit_distance(b, a)) << a << " " << b;
    }
  }
}

TEST(RightSpelling, SuggestsOnlyWhatIsNear) {
  EXPECT_EQ(right_spelling("fp23", {"fp16", "fp32", "fp64"}), "did you mean \"fp32\"?");
  EXPECT_EQ(right_spelling("quantum", {"cpu", "gpu"}), "one of cpu, gpu");
  EXPECT_EQ(right_spelling("x", {"mlp"}), "the only one is mlp");
  EXPECT_EQ(right_spelling(std::string(100000, 'c'), {"cpu", "gpu"}), "one of cpu, gpu");
}

TEST(Printable, StaysOnOneBoundedLine) {
  EXPECT_EQ(printable("a\nb\tc"), "a?b?c");
  EXPECT_EQ(printable("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(printable("a\xc2\x9b"
                      "2J\xc2\xa0"),
            "a?2J\xc2\xa0");
  EXPECT_EQ(printable(std::string(200, 'x'), 10), "xxxxxxxxxx...");
  EXPECT_EQ(in_quotes("a"), "\"a\"");
}

}  // namespace
}  // namespace trainbench
