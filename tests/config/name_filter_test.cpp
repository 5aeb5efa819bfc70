#include "common/config/name_filter.h"

#include <gtest/gtest.h>

#include "common/core/error.h"

namespace trainbench {
namespace {

std::string refusal(const std::string& expression) {
  try {
    NameFilter filter(expression);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(NameFilter, FindsAnywhereUnlessAnchored) {
  const std::string name = "train/mlp/cpu/fp32/batch:256";
  for (const char* found :
       {"", "mlp", "^train", "256$", "batch:(32|256)$", "cpu.*[0-9]+$", "fp\\w+", "train/.lp"}) {
    EXPECT_TRUE(NameFilter(found).finds(name)) << found;
  }
  for (const char* missed : {"gpu", "^mlp", "batch:2$", "batch:(3|25)$"}) {
    EXPECT_FALSE(NameFilter(missed).finds(name)) << missed;
  }
}

TEST(NameFilter, WhatABacktrackingMatcherNeverFinishes) {
  const std::string name(4000, 'a');
  EXPECT_FALSE(NameFilter("(a+)+$").finds(name + "!"));
  EXPECT_FALSE(NameFilter("(a*)*b").finds(name));
  EXPECT_FALSE(NameFilter("(a|aa)+$").finds(name + "!"));
}

TEST(NameFilter, RefusesWhatItCannotMatchSafely) {
  EXPECT_NE(refusal("(a)\\1").find("unknown escape \\1"), std::string::npos);
  EXPECT_NE(refusal("batch:\\d+").find("write [0-9]"), std::string::npos);
  EXPECT_NE(refusal("((a{100}){100}){100}").find("counts in braces"), std::string::npos);
  EXPECT_NE(refusal("(").find("not a regular expression"), std::string::npos);
  EXPECT_NE(refusal(std::string(60000, '(')).find("longer than 1000"), std::string::npos);
  EXPECT_EQ(refusal("a\\.b\\w\\$"), "");
}

}  // namespace
}  // namespace trainbench
