#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/dtype.h"
#include "common/core/shape.h"

namespace trainbench {

/// Samples in the order of their source.
struct SampleSet {
  std::vector<std::uint8_t> samples;  ///< their elements' bytes; Dataset says where each starts
  std::vector<std::int32_t> labels;   ///< [size()], each in [0, classes); empty: they have none
  std::int64_t count = 0;

  std::int64_t size() const { return count; }
};

/// Images or sequences to train and to test on, in host memory. A sequence of t steps is a window
/// of t + 1 tokens, and the last of them is the next window's first, so that each is predicted
/// once.
struct Dataset {
  std::string name;          ///< "fashion-mnist", "bible-kjv", "synthetic", or what was given
  bool synthetic = false;    ///< made by the program, not read
  Shape sample_shape;        ///< [height, width, channels]; [t + 1] of a sequence
  DType dtype = DType::u8;   ///< of a sample's elements: u8 or i32
  std::int64_t classes = 0;  ///< of the labels; of a sequence's tokens
  SampleSet train;
  SampleSet test;

  bool is_sequence() const { return sample_shape.rank() == 1; }
  /// Steps of a sequence; 0 for images.
  std::int64_t steps() const { return is_sequence() ? sample_shape[0] - 1 : 0; }
  std::int64_t sample_bytes() const {
    return sample_shape.elements() * static_cast<std::int64_t>(size_of(dtype));
  }
  /// From a sample's first byte to the next one's.
  std::int64_t stride_bytes() const {
    return is_sequence() ? steps() * static_cast<std::int64_t>(size_of(dtype)) : sample_bytes();
  }
  /// The first byte of a sample of `set`, which is train or test.
  const std::uint8_t* sample(const SampleSet& set, std::size_t index) const {
    return set.samples.data() + index * static_cast<std::size_t>(stride_bytes());
  }
};

/// The shape of sequences, which their source does not say; 0: the kind's default.
struct SequenceShape {
  std::int64_t steps = 0;
  std::int64_t vocabulary = 0;  ///< tokens lie below; text needs at least 128
};

/// Data of a kind from `source`; "" is the kind's default source and "synthetic" a set made from
/// `seed`. Throws InputError that names the file and what is wrong.
///
/// - `images28`: grey images of 10 classes. A folder with the four IDX files of the MNIST family,
///   each plain or with .gz; by default Fashion-MNIST where Debian's package puts it.
/// - `images32`: images of 10 classes. A folder with CIFAR-10's binary files, data_batch_*.bin and
///   test_batch.bin (Krizhevsky 2009), or one as for images28, whose images get a margin of zeros.
///   The same default.
/// - `images224`: images of 3 channels and 1000 classes. A folder with train*.bin and test*.bin:
///   records of a label (16 bits, little-endian) and 224 x 224 pixels of red, green and blue, row
///   by row. Synthetic by default.
/// - `text`: ASCII bytes; the last tenth is the test set. A file, or a folder with one *.txt; by
///   default "bible-kjv", what the program `bible` of Debian's package prints, where installed.
/// - `tokens`: a file of little-endian numbers: of 32 bits if its name ends in .i32, else of 16;
/// the
///   last tenth is the test set. Synthetic by default.
Dataset load_dataset(std::string_view kind, const std::string& source, std::uint64_t seed,
                     const SequenceShape& sequence = {});

/// What load_dataset takes for data of that kind where it is given no source: a folder, a package
/// or "synthetic".
std::string default_source(std::string_view kind);

/// Where Debian's package dataset-fashion-mnist puts its files.
std::filesystem::path fashion_mnist_folder();

/// The kinds of data there are.
std::vector<std::string_view> data_kinds();

/// How many samples a synthetic set has; 0: as many as its kind has by default.
struct SyntheticSize {
  std::int64_t train = 0;
  std::int64_t test = 0;
};

/// A set that a network can learn, the same on every machine: see common/data/synthetic.h.
Dataset make_synthetic_dataset(std::string_view kind, std::uint64_t seed,
                               const SyntheticSize& size = {}, const SequenceShape& sequence = {});

}  // namespace trainbench
