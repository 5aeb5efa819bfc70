#include "common/data/idx.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "tests/data/idx_bytes.h"
#include "tests/temporary_folder.h"

namespace trainbench {
namespace {

using testing::Bytes;
using testing::counting_bytes;
using testing::gzip;
using testing::idx_bytes;
using testing::input_error_of;
using testing::is_one_line;
using testing::TemporaryFolder;

const std::vector<std::uint32_t> kExtents{5, 3, 2};

Bytes good_file() { return idx_bytes(kExtents, counting_bytes(30)); }

Bytes with(Bytes bytes, std::size_t index, std::uint8_t value) {
  bytes.at(index) = value;
  return bytes;
}

Bytes first(const Bytes& bytes, std::size_t count) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count)};
}

Bytes joined(Bytes a, const Bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(Idx, ReadsPlainAndGzipped) {
  const Bytes good = good_file();
  const Bytes two_members =
      joined(gzip(first(good, 21)), gzip(Bytes(good.begin() + 21, good.end())));
  for (const Bytes& file : {good, gzip(good), two_members}) {
    const IdxArray array = parse_idx(file, "f", 3);
    EXPECT_EQ(array.extents, (std::vector<std::int64_t>{5, 3, 2}));
    EXPECT_EQ(array.values, counting_bytes(30));
  }
}

TEST(Idx, ReadsFilesOfMoreThanOnePiece) {
  const std::uint32_t count = 5'000'001;
  const Bytes file = idx_bytes({count}, counting_bytes(count, 251));
  EXPECT_EQ(parse_idx(file, "f", 1).values, counting_bytes(count, 251));
  EXPECT_EQ(parse_idx(gzip(file), "f", 1).values, counting_bytes(count, 251));
}

TEST(Idx, ReadsFromAFile) {
  const TemporaryFolder folder;
  testing::write_file(folder.path() / "f.gz", gzip(good_file()));
  EXPECT_EQ(read_idx(folder.path() / "f.gz", 3).values, counting_bytes(30));
}

struct BadFile {
  std::string name;
  Bytes bytes;
  std::string fault;

  friend void PrintTo(const BadFile& file, std::ostream* out) { *out << file.name; }
};

class BadIdx : public ::testing::TestWithParam<BadFile> {};

TEST_P(BadIdx, GivesOneLine) {
  const std::string message = input_error_of([] { parse_idx(GetParam().bytes, "dir/f", 3); });
  EXPECT_TRUE(is_one_line(message, "dir/f", GetParam().fault));
}

std::vector<BadFile> bad_files() {
  const Bytes good = good_file();
  const Bytes zipped = gzip(good);
  const std::uint32_t most = 0xffffffff;
  return {
      {"Empty", {}, "ends within its header"},
      {"HeaderCut", first(good, 15), "ends within its header"},
      {"WrongMagic", with(good, 0, 'P'), "not an IDX file: it starts with 50 00"},
      {"WrongSecondByte", with(good, 1, 8), "not an IDX file"},
      {"FloatType", with(good, 2, 0x0d), "type 0x0d; they must be unsigned bytes (type 0x08)"},
      {"LowRank", idx_bytes({30}, counting_bytes(30)), "1 extents; there must be 3"},
      {"HighRank", with(good, 3, 255), "255 extents; there must be 3"},
      {"NoElements", idx_bytes({0, 3, 2}, {}), "the header says 0x3x2; every extent must be"},
      {"Truncated", first(good, good.size() - 1), "truncated: 29 of the 30 bytes"},
      {"Trailing", joined(good, {0}), "trailing bytes after the 30 bytes of elements (5x3x2)"},
      {"Overflow", idx_bytes({most, most, most}, {}), "at most 4294967296 are read"},
      {"OverflowTo0", idx_bytes({1u << 31, 1u << 31, 4}, {}), "at most 4294967296 are read"},
      {"Absurd", idx_bytes({most, 1, 1}, counting_bytes(7)), "truncated: 7 of the 4294967295"},
      {"GzipAbsurd", gzip(idx_bytes({most, 1, 1}, counting_bytes(7))), "truncated: 7 of the"},
      {"GzipTruncated", first(zipped, zipped.size() / 2), "the gzip data stops early"},
      {"GzipWithoutTrailer", first(zipped, zipped.size() - 8), "the gzip data stops early"},
      {"GzipHeaderAlone", first(zipped, 2), "the gzip data stops early"},
      {"GzipMethod", with(zipped, 2, 7), "the gzip data is damaged"},
      {"GzipBody", with(zipped, 10, zipped[10] ^ 0xff), "the gzip data is damaged"},
      {"GzipChecksum", with(zipped, zipped.size() - 5, zipped[zipped.size() - 5] ^ 1),
       "the gzip data is damaged (incorrect data check)"},
      {"GzipLength", with(zipped, zipped.size() - 1, 1), "the gzip data is damaged"},
      {"GzipGarbageAfter", joined(zipped, {1, 2, 3}), "the gzip data is damaged"},
      {"GzipTrailing", gzip(joined(good, {0})), "trailing bytes"},
      {"GzipOfGzip", gzip(zipped), "not an IDX file: it starts with 1f 8b"},
  };
}

INSTANTIATE_TEST_SUITE_P(Idx, BadIdx, ::testing::ValuesIn(bad_files()),
                         [](const auto& test) { return test.param.name; });

std::int64_t peak_kilobytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// The header asks for 4 GiB. The fuzz target bounds the single allocation as well.
TEST(Idx, MemoryFollowsTheBytesThereAreNotTheHeader) {
  const Bytes lie = idx_bytes({0xffffffff}, Bytes(3'000'000));
  for (const Bytes& file : {lie, gzip(lie)}) {
    const std::int64_t before = peak_kilobytes();
    EXPECT_NE(input_error_of([&] { parse_idx(file, "f", 1); }), "");
    EXPECT_LT(peak_kilobytes() - before, 200'000);
  }
}

TEST(Idx, EveryPrefixIsRefused) {
  for (const Bytes& file : {good_file(), gzip(good_file())}) {
    for (std::size_t count = 0; count < file.size(); ++count) {
      EXPECT_NE(input_error_of([&] { parse_idx(first(file, count), "f", 3); }), "") << count;
    }
  }
}

TEST(Idx, PathsThatAreNoFileGiveOneLine) {
  const TemporaryFolder folder;
  const std::filesystem::path missing = folder.path() / "missing";
  EXPECT_TRUE(
      is_one_line(input_error_of([&] { read_idx(missing, 1); }), missing.string(), "no such file"));
  EXPECT_TRUE(is_one_line(input_error_of([&] { read_idx(folder.path(), 1); }),
                          folder.path().string(), "no such file"));
  testing::write_file(folder.path() / "empty", {});
  EXPECT_TRUE(is_one_line(input_error_of([&] { read_idx(folder.path() / "empty", 1); }),
                          (folder.path() / "empty").string(), "empty"));
}

}  // namespace
}  // namespace trainbench
