#include "common/core/philox.h"

#include <gtest/gtest.h>

#include <vector>

namespace trainbench {
namespace {

struct KnownAnswer {
  PhiloxWords counter;
  std::uint32_t key[2];
  PhiloxWords expected;
};

// Random123's file kat_vectors, the lines "philox4x32 10".
const KnownAnswer kKnownAnswers[] = {
    {{{0, 0, 0, 0}}, {0, 0}, {{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}}},
    {{{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}},
     {0xffffffff, 0xffffffff},
     {{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}}},
    {{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}},
     {0xa4093822, 0x299f31d0},
     {{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}},
};

TEST(Philox, GivesThePublishedWords) {
  for (const KnownAnswer& known : kKnownAnswers) {
    const PhiloxWords words = philox4x32(known.counter, known.key[0], known.key[1]);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(words.word[i], known.expected.word[i]);
  }
}

TEST(Philox, PutsSeedIntoTheKeyAndIndexAndStreamIntoTheCounter) {
  const Philox random(0x299f31d0a4093822u, 0x0370734413198a2eu);
  const PhiloxWords words = random.block(0x85a308d3243f6a88u);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(words.word[i], kKnownAnswers[2].expected.word[i]);
}

TEST(Philox, WordsAreTheBlocksInOrder) {
  const Philox random(7, 3);
  for (std::uint64_t i = 0; i < 64; ++i) {
    EXPECT_EQ(random.word(i), random.block(i / 4).word[i % 4]);
  }
}

TEST(Philox, IsUsableInConstantExpressions) {
  constexpr Philox random(0, 0);
  static_assert(random.word(0) == 0x6627e8d5);
  static_assert(random.uniform(0) == 0x6627e8d5 / 0x1p32);
}

TEST(Philox, UniformLiesInItsInterval) {
  const Philox random(1, 0);
  for (std::uint64_t i = 0; i < 10000; ++i) {
    const double unit = random.uniform(i);
    EXPECT_TRUE(unit >= 0 && unit < 1);
    const double scaled = random.uniform(i, -2.5, 0.5);
    EXPECT_TRUE(scaled >= -2.5 && scaled < 0.5);
  }
}

// Each of 64 equal bins of n = 2^16 numbers holds n/64 = 1024 on average with a standard deviation
// below 32; 6 of those are passed once in 10^7 runs of another seed.
TEST(Philox, UniformFillsItsInterval) {
  const Philox random(2, 5);
  std::vector<int> bins(64);
  for (std::uint64_t i = 0; i < 65536; ++i)
    ++bins[static_cast<std::size_t>(random.uniform(i) * 64)];
  for (const int count : bins) EXPECT_NEAR(count, 1024, 6 * 32);
}

TEST(Philox, StreamsAndSeedsDiffer) {
  const Philox random(1, 0);
  const Philox other_stream(1, 1);
  const Philox other_seed(2, 0);
  int equal = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    equal += random.word(i) == other_stream.word(i);
    equal += random.word(i) == other_seed.word(i);
  }
  EXPECT_EQ(equal, 0);
}

}  // namespace
}  // namespace trainbench
