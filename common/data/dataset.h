#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/shape.h"

namespace trainbench {

/// Labelled samples, one after the other.
struct SampleSet {
  std::vector<std::uint8_t> samples;  ///< [size(), height, width, channels]
  std::vector<std::int32_t> labels;   ///< [size()], each in [0, classes)

  std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }
};

/// Images to train and to test on, in host memory.
struct Dataset {
  std::string name;        ///< "fashion-mnist", "synthetic", or the folder given
  bool synthetic = false;  ///< made by the program, not read
  Shape sample_shape;      ///< [height, width, channels]
  std::int64_t classes = 0;
  SampleSet train;
  SampleSet test;

  std::int64_t sample_bytes() const { return sample_shape.elements(); }
};

/// Data of a kind ("images28": 28 x 28 grey images of 10 classes, the MNIST family) from `source`:
/// a folder that holds the family's four IDX files, each plain or with .gz; "synthetic"; or "" for
/// Fashion-MNIST where Debian's package dataset-fashion-mnist puts it and else the synthetic set.
/// `seed` chooses the synthetic set. Throws InputError that names the file and what is wrong.
Dataset load_dataset(std::string_view kind, const std::string& source, std::uint64_t seed);

/// What load_dataset takes for data of that kind where it is given no source: the folder or
/// "synthetic".
std::string default_source(std::string_view kind);

/// How many samples a synthetic set has; those of Fashion-MNIST unless told otherwise.
struct SyntheticSize {
  std::int64_t train = 60000;
  std::int64_t test = 10000;
};

/// A set that a network can learn: each class has a prototype of random bytes, and a sample is a
/// quarter of its class's prototype and three quarters noise of its own, so that no single pixel
/// tells the class. Integer arithmetic on Philox words: the same on every machine.
Dataset make_synthetic_dataset(std::string_view kind, std::uint64_t seed, SyntheticSize size = {});

/// Where Debian's package dataset-fashion-mnist puts its files.
std::filesystem::path fashion_mnist_folder();

}  // namespace trainbench
