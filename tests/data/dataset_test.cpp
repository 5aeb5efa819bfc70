#include "common/data/dataset.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

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
using testing::write_file;

constexpr std::uint32_t kTrain = 20;
constexpr std::uint32_t kTest = 10;
constexpr std::size_t kPixels = 28 * 28;

// A folder with a small, right data set; each test breaks one file of it.
class DatasetFiles : public ::testing::Test {
 protected:
  DatasetFiles() {
    write_file(file("train-images-idx3-ubyte"),
               idx_bytes({kTrain, 28, 28}, counting_bytes(kTrain * kPixels)));
    write_file(file("train-labels-idx1-ubyte"), idx_bytes({kTrain}, counting_bytes(kTrain, 10)));
    write_file(file("t10k-images-idx3-ubyte.gz"),
               gzip(idx_bytes({kTest, 28, 28}, counting_bytes(kTest * kPixels, 255))));
    write_file(file("t10k-labels-idx1-ubyte.gz"),
               gzip(idx_bytes({kTest}, counting_bytes(kTest, 10))));
  }

  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  Dataset load() const { return load_dataset("images28", folder_.path().string(), 1); }
  std::string error() const {
    return input_error_of([this] { load(); });
  }

  testing::TemporaryFolder folder_;
};

TEST_F(DatasetFiles, AreRead) {
  const Dataset data = load();
  EXPECT_FALSE(data.synthetic);
  EXPECT_EQ(data.name, folder_.path().string());
  EXPECT_EQ(data.sample_shape, (Shape{28, 28, 1}));
  EXPECT_EQ(data.classes, 10);
  EXPECT_EQ(data.train.size(), kTrain);
  EXPECT_EQ(data.train.samples, counting_bytes(kTrain * kPixels));
  EXPECT_EQ(data.train.labels[13], 3);
  EXPECT_EQ(data.test.size(), kTest);
  EXPECT_EQ(data.test.samples, counting_bytes(kTest * kPixels, 255));
}

TEST_F(DatasetFiles, MissingFileIsNamed) {
  std::filesystem::remove(file("t10k-labels-idx1-ubyte.gz"));
  EXPECT_TRUE(is_one_line(error(), file("t10k-labels-idx1-ubyte"), "no such file, nor with .gz"));
}

TEST_F(DatasetFiles, LabelOutOfRange) {
  Bytes labels = counting_bytes(kTrain, 10);
  labels[17] = 10;
  write_file(file("train-labels-idx1-ubyte"), idx_bytes({kTrain}, labels));
  EXPECT_TRUE(is_one_line(error(), file("train-labels-idx1-ubyte"),
                          "label 17 is 10; labels must be below 10"));
}

TEST_F(DatasetFiles, CountMismatch) {
  write_file(file("train-labels-idx1-ubyte"),
             idx_bytes({kTrain - 1}, counting_bytes(kTrain - 1, 10)));
  EXPECT_TRUE(is_one_line(error(), file("train-labels-idx1-ubyte"), "19 labels for the 20 images"));
}

TEST_F(DatasetFiles, WrongImageSize) {
  write_file(file("train-images-idx3-ubyte"),
             idx_bytes({kTrain, 32, 28}, counting_bytes(kTrain * 32 * 28)));
  EXPECT_TRUE(is_one_line(error(), file("train-images-idx3-ubyte"),
                          "images of 32x28; images28 needs 28x28"));
}

TEST_F(DatasetFiles, SmallerImagesGetAMarginOfZeros) {
  const Dataset data = load_dataset("images32", folder_.path().string(), 1);
  EXPECT_EQ(data.sample_shape, (Shape{32, 32, 1}));
  ASSERT_EQ(data.train.size(), kTrain);
  ASSERT_EQ(data.train.samples.size(), kTrain * 32u * 32u);
  const Bytes small = counting_bytes(kTrain * kPixels);
  for (std::size_t i = 0; i < data.train.samples.size(); ++i) {
    const std::size_t row = i / 32 % 32, column = i % 32;
    const bool inside = row >= 2 && row < 30 && column >= 2 && column < 30;
    const std::size_t source = (i / 1024 * 28 + row - 2) * 28 + column - 2;
    ASSERT_EQ(data.train.samples[i], inside ? small[source] : 0) << i;
  }
}

TEST_F(DatasetFiles, ImagesInPlaceOfLabels) {
  std::filesystem::copy_file(file("train-images-idx3-ubyte"), file("train-labels-idx1-ubyte"),
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_TRUE(is_one_line(error(), file("train-labels-idx1-ubyte"), "3 extents; there must be 1"));
}

TEST(Dataset, WrongSourcesGiveOneLine) {
  EXPECT_TRUE(is_one_line(input_error_of([] { load_dataset("images28", "/no/such/folder", 1); }),
                          "/no/such/folder", "no such folder"));
  EXPECT_NE(input_error_of([] { load_dataset("images29", "synthetic", 1); }).find("images28"),
            std::string::npos);
}

TEST(Dataset, FashionMnistOfTheSystem) {
  if (!std::filesystem::exists(fashion_mnist_folder())) {
    GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  }
  const Dataset data = load_dataset("images28", "", 1);
  EXPECT_EQ(data.name, "fashion-mnist");
  EXPECT_FALSE(data.synthetic);
  ASSERT_EQ(data.train.size(), 60000);
  ASSERT_EQ(data.test.size(), 10000);
  std::array<int, 10> count{};
  for (const std::int32_t label : data.train.labels) ++count[static_cast<std::size_t>(label)];
  for (const int of_class : count) EXPECT_EQ(of_class, 6000);
  const std::int64_t sum =
      std::accumulate(data.train.samples.begin(), data.train.samples.end(), std::int64_t{0});
  // The mean that the workload table normalizes with.
  EXPECT_NEAR(static_cast<double>(sum) / (60000.0 * kPixels * 255.0), 0.2860, 0.00005);
}

TEST(Synthetic, HasTheShapeOfFashionMnist) {
  const Dataset data = load_dataset("images28", "synthetic", 1);
  EXPECT_EQ(data.name, "synthetic");
  EXPECT_TRUE(data.synthetic);
  EXPECT_EQ(data.sample_shape, (Shape{28, 28, 1}));
  EXPECT_EQ(data.train.size(), 60000);
  EXPECT_EQ(data.train.samples.size(), 60000 * kPixels);
  EXPECT_EQ(data.test.size(), 10000);
}

// Computed by another implementation of Philox4x32-10 and of the mixture, in Python.
TEST(Synthetic, IsTheSameOnEveryMachine) {
  const Dataset data = make_synthetic_dataset("images28", 7, {.train = 14, .test = 14});
  const auto head = [](const SampleSet& set, std::size_t sample) {
    const auto start = set.samples.begin() + static_cast<std::ptrdiff_t>(sample * kPixels);
    return Bytes(start, start + 8);
  };
  EXPECT_EQ(head(data.train, 0), (Bytes{189, 155, 76, 49, 158, 146, 135, 27}));
  EXPECT_EQ(head(data.train, 13), (Bytes{199, 120, 83, 12, 136, 107, 52, 45}));
  EXPECT_EQ(head(data.test, 0), (Bytes{42, 199, 37, 63, 135, 97, 231, 94}));
  EXPECT_EQ(head(data.test, 13), (Bytes{133, 143, 52, 160, 69, 170, 167, 180}));
  EXPECT_EQ(data.train.labels[13], 3);
  EXPECT_NE(make_synthetic_dataset("images28", 8, {.train = 1, .test = 1}).train.samples,
            make_synthetic_dataset("images28", 7, {.train = 1, .test = 1}).train.samples);
}

TEST(Synthetic, ValuesSpreadOverAllBytes) {
  const Dataset data = make_synthetic_dataset("images28", 3, {.train = 1000, .test = 1});
  std::array<std::size_t, 8> bins{};
  for (const std::uint8_t value : data.train.samples) ++bins[value / 32];
  for (const std::size_t bin : bins) EXPECT_GT(bin, data.train.samples.size() / 50);
}

// Nearest mean of the training samples of a class, by plain loops.
TEST(Synthetic, ClassesCanBeLearnedAndNotFromOnePixel) {
  const Dataset data = make_synthetic_dataset("images28", 5, {.train = 2000, .test = 500});
  std::vector<double> means(10 * kPixels, 0.0);
  for (std::size_t i = 0; i < 2000; ++i) {
    const auto label = static_cast<std::size_t>(data.train.labels[i]);
    for (std::size_t p = 0; p < kPixels; ++p) {
      means[label * kPixels + p] += data.train.samples[i * kPixels + p] / 200.0;
    }
  }
  const auto hits = [&](std::size_t pixels) {
    int right = 0;
    for (std::size_t i = 0; i < 500; ++i) {
      std::size_t best = 0;
      double least = 1e30;
      for (std::size_t c = 0; c < 10; ++c) {
        double distance = 0;
        for (std::size_t p = 0; p < pixels; ++p) {
          const double d = data.test.samples[i * kPixels + p] - means[c * kPixels + p];
          distance += d * d;
        }
        if (distance < least) {
          least = distance;
          best = c;
        }
      }
      right += data.test.labels[i] == static_cast<std::int32_t>(best);
    }
    return right;
  };
  EXPECT_GT(hits(kPixels), 475);
  EXPECT_LT(hits(1), 250);
}

}  // namespace
}  // namespace trainbench
