// Every file of the corpus is read as its folder says. corpus_test.py puts the same files through
// the JSON schema, so that reader and schema agree.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/config/suite.h"
#include "common/core/error.h"
#include "tests/corpus_files.h"

namespace trainbench {
namespace {

const std::filesystem::path kCorpus =
    std::filesystem::path(TRAINBENCH_SOURCE_DIR) / "tests/config/corpus";

TEST(Corpus, GoodFilesAreRead) {
  const auto files = json_files_of(kCorpus / "good");
  ASSERT_GE(files.size(), 9u);
  for (const auto& file : files) {
    SCOPED_TRACE(file.string());
    EXPECT_NO_THROW(EXPECT_FALSE(load_suite(file.string(), {}).cases.empty()));
  }
}

TEST(Corpus, BadFilesAreRefusedInOneLineThatSaysWhy) {
  const auto files = json_files_of(kCorpus / "bad");
  ASSERT_GE(files.size(), 50u);
  for (const auto& file : files) {
    SCOPED_TRACE(file.string());
    std::ifstream beside(std::filesystem::path(file).replace_extension(".message"));
    std::string expected;
    ASSERT_TRUE(std::getline(beside, expected));
    try {
      load_suite(file.string(), {});
      ADD_FAILURE() << "was accepted";
    } catch (const InputError& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find(file.string()), 0u) << message;
      EXPECT_NE(message.find(expected), std::string::npos) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
  }
}

}  // namespace
}  // namespace trainbench
