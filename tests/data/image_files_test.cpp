#include "common/data/image_files.h"

#include <gtest/gtest.h>

#include "tests/data/idx_bytes.h"
#include "tests/temporary_folder.h"

namespace trainbench {
namespace {

using testing::Bytes;
using testing::counting_bytes;
using testing::input_error_of;
using testing::is_one_line;
using testing::write_file;

constexpr std::size_t kCifarPixels = 32 * 32;

/// A file of CIFAR-10's: each record a label and the planes of red, green and blue.
Bytes cifar_file(const std::vector<std::uint8_t>& labels) {
  Bytes file;
  for (const std::uint8_t label : labels) {
    file.push_back(label);
    for (std::size_t i = 0; i < 3 * kCifarPixels; ++i) {
      file.push_back(static_cast<std::uint8_t>(label + i / kCifarPixels * 50 + i % 7));
    }
  }
  return file;
}

class CifarFolder : public ::testing::Test {
 protected:
  CifarFolder() {
    write_file(folder_.file("data_batch_1.bin"), cifar_file({0, 1, 2}));
    write_file(folder_.file("data_batch_2.bin"), cifar_file({9}));
    write_file(folder_.file("test_batch.bin"), cifar_file({5, 6}));
  }
  Dataset load() const { return load_dataset("images32", folder_.path().string(), 1); }
  std::string error() const {
    return input_error_of([this] { load(); });
  }
  testing::TemporaryFolder folder_;
};

TEST_F(CifarFolder, PlanesBecomePixelsOfThreeChannels) {
  const Dataset data = load();
  EXPECT_EQ(data.sample_shape, (Shape{32, 32, 3}));
  EXPECT_EQ(data.train.size(), 4);
  EXPECT_EQ(data.train.labels, (std::vector<std::int32_t>{0, 1, 2, 9}));
  EXPECT_EQ(data.test.labels, (std::vector<std::int32_t>{5, 6}));
  ASSERT_EQ(data.train.samples.size(), 4 * 3 * kCifarPixels);
  const std::uint8_t* last = data.sample(data.train, 3);
  for (std::size_t pixel = 0; pixel < kCifarPixels; ++pixel) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      const std::size_t i = channel * kCifarPixels + pixel;
      ASSERT_EQ(last[pixel * 3 + channel], static_cast<std::uint8_t>(9 + channel * 50 + i % 7));
    }
  }
}

TEST_F(CifarFolder, TruncatedRecord) {
  Bytes file = cifar_file({1, 2});
  file.pop_back();
  write_file(folder_.file("data_batch_2.bin"), file);
  EXPECT_TRUE(is_one_line(error(), folder_.file("data_batch_2.bin"),
                          "6145 bytes are no whole number of records, which have 3073"));
}

TEST_F(CifarFolder, LabelOutOfRange) {
  write_file(folder_.file("test_batch.bin"), cifar_file({1, 10}));
  EXPECT_TRUE(is_one_line(error(), folder_.file("test_batch.bin"),
                          "label 1 is 10; labels must be below 10"));
}

TEST_F(CifarFolder, MissingAndEmptyFiles) {
  write_file(folder_.file("test_batch.bin"), {});
  EXPECT_TRUE(is_one_line(error(), folder_.file("test_batch.bin"), "empty"));
  std::filesystem::remove(folder_.file("test_batch.bin"));
  EXPECT_TRUE(is_one_line(error(), folder_.path().string(), "no file test_batch*.bin"));
}

TEST(Images32, AFolderOfNeitherKind) {
  const testing::TemporaryFolder folder;
  EXPECT_TRUE(
      is_one_line(input_error_of([&] { load_dataset("images32", folder.path().string(), 1); }),
                  folder.file("train-images-idx3-ubyte"), "no such file"));
  EXPECT_TRUE(is_one_line(input_error_of([&] { load_dataset("images32", "/no/such", 1); }),
                          "/no/such", "no such folder"));
}

TEST(Images224, RecordsAreLabelAndPixels) {
  const testing::TemporaryFolder folder;
  constexpr std::size_t kBytes = 224 * 224 * 3;
  Bytes file{231, 3};  // label 999
  const Bytes pixels = counting_bytes(kBytes, 251);
  file.insert(file.end(), pixels.begin(), pixels.end());
  write_file(folder.file("train-0.bin"), file);
  write_file(folder.file("test.bin"), file);
  const Dataset data = load_dataset("images224", folder.path().string(), 1);
  EXPECT_EQ(data.train.labels, std::vector<std::int32_t>{999});
  EXPECT_EQ(data.train.samples, pixels);

  file[0] = 232;
  write_file(folder.file("test.bin"), file);
  EXPECT_TRUE(
      is_one_line(input_error_of([&] { load_dataset("images224", folder.path().string(), 1); }),
                  folder.file("test.bin"), "label 0 is 1000; labels must be below 1000"));
}

TEST(Images224, SyntheticOnesStayBelow200Megabytes) {
  const Dataset data = load_dataset("images224", "", 1);
  EXPECT_TRUE(data.synthetic);
  EXPECT_EQ(data.sample_shape, (Shape{224, 224, 3}));
  EXPECT_EQ(data.classes, 1000);
  EXPECT_LT(data.train.samples.size() + data.test.samples.size(), 200'000'000u);
  EXPECT_GE(data.train.size(), 512);
}

}  // namespace
}  // namespace trainbench
