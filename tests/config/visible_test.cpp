#include "common/config/visible.h"

#include <gtest/gtest.h>

namespace trainbench {
namespace {

TEST(Visible, SpellsWhatIsNoPartOfALine) {
  EXPECT_EQ(visible(std::string_view("a\0b\n\x1b[1m\x7f", 9)), "a\\u0000b\\u000a\\u001b[1m\\u007f");
  EXPECT_EQ(visible("caf\xc3\xa9 \xef\xbf\xbd"), "caf\xc3\xa9 \xef\xbf\xbd");
  EXPECT_EQ(visible("\xef\xbf\xbe\xef\xbf\xbf"), "\\ufffe\\uffff");
}

}  // namespace
}  // namespace trainbench
