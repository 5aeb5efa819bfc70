#include "common/data/data_sources.h"

#include <gtest/gtest.h>

#include "common/core/error.h"

namespace trainbench {
namespace {

TEST(DataSources, OneForAllAndOneForAKind) {
  EXPECT_EQ(DataSources().of("text"), "");
  EXPECT_EQ(DataSources().text(), "default");
  const DataSources sources({"text=/a=b.txt", "synthetic"});
  EXPECT_EQ(sources.of("text"), "/a=b.txt");
  EXPECT_EQ(sources.of("images28"), "synthetic");
  EXPECT_EQ(sources.text(), "text=/a=b.txt, synthetic");
}

TEST(DataSources, APathMayHoldTheSign) {
  EXPECT_EQ(DataSources({"/data/a=b"}).of("text"), "/data/a=b");
}

TEST(DataSources, UnknownKind) {
  try {
    DataSources({"images29=/x"});
    FAIL();
  } catch (const InputError& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.rfind("--data images29=/x: unknown kind of data \"images29\"", 0), 0u);
    EXPECT_NE(message.find("images28"), std::string::npos);
  }
}

}  // namespace
}  // namespace trainbench
