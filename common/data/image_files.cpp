#include "common/data/image_files.h"

#include <algorithm>
#include <cstring>

#include "common/core/error.h"
#include "common/data/file_bytes.h"
#include "common/data/idx.h"

namespace trainbench {
namespace {

const Shape kMnistImage{28, 28, 1};
constexpr std::int64_t kCifarChannels = 3;

void require_folder(const std::filesystem::path& folder, const std::string& contents) {
  std::error_code error;
  if (std::filesystem::is_directory(folder, error)) return;
  throw InputError(folder.string() + ": no such folder; data is a folder with " + contents +
                   ", or \"synthetic\"");
}

[[noreturn]] void wrong_label(const std::string& name, std::size_t index, std::int64_t label,
                              std::int64_t classes) {
  throw InputError(name + ": label " + std::to_string(index) + " is " + std::to_string(label) +
                   "; labels must be below " + std::to_string(classes));
}

// ---- Files of the MNIST family ---------------------------------------------------------------

constexpr const char* kIdxFiles =
    "train-images-idx3-ubyte, train-labels-idx1-ubyte, t10k-images-idx3-ubyte and "
    "t10k-labels-idx1-ubyte";

std::filesystem::path find_idx(const std::filesystem::path& folder, const std::string& stem) {
  const std::filesystem::path plain = folder / stem;
  std::filesystem::path gzipped = plain;
  gzipped += ".gz";
  std::error_code error;
  if (std::filesystem::exists(plain, error)) return plain;
  if (std::filesystem::exists(gzipped, error)) return gzipped;
  throw InputError(plain.string() + ": no such file, nor with .gz; the folder must hold " +
                   kIdxFiles);
}

/// Grey images in the middle of larger ones that are zero around them.
std::vector<std::uint8_t> with_margin(const std::vector<std::uint8_t>& images, std::int64_t height,
                                      std::int64_t width, const Shape& larger) {
  const auto count = static_cast<std::int64_t>(images.size()) / (height * width);
  const std::int64_t top = (larger[0] - height) / 2;
  const std::int64_t left = (larger[1] - width) / 2;
  std::vector<std::uint8_t> padded(static_cast<std::size_t>(count * larger[0] * larger[1]));
  for (std::int64_t row = 0; row < count * height; ++row) {
    const std::int64_t to = (row / height * larger[0] + top + row % height) * larger[1] + left;
    std::copy_n(images.begin() + row * width, width, padded.begin() + to);
  }
  return padded;
}

SampleSet read_idx_samples(const DataKind& kind, const std::filesystem::path& folder,
                           const std::string& prefix) {
  const std::filesystem::path image_path = find_idx(folder, prefix + "-images-idx3-ubyte");
  const std::filesystem::path label_path = find_idx(folder, prefix + "-labels-idx1-ubyte");
  IdxArray images = read_idx(image_path, 3);
  const IdxArray labels = read_idx(label_path, 1);

  const std::int64_t height = images.extents[1];
  const std::int64_t width = images.extents[2];
  const bool fits = height == kind.image[0] && width == kind.image[1];
  if (!fits && (height != kMnistImage[0] || width != kMnistImage[1])) {
    throw InputError(image_path.string() + ": images of " + std::to_string(height) + "x" +
                     std::to_string(width) + "; " + std::string(kind.name) + " needs 28x28" +
                     (kind.image == kMnistImage ? ""
                                                : " or " + std::to_string(kind.image[0]) + "x" +
                                                      std::to_string(kind.image[1])));
  }
  if (labels.extents[0] != images.extents[0]) {
    throw InputError(label_path.string() + ": " + std::to_string(labels.extents[0]) +
                     " labels for the " + std::to_string(images.extents[0]) + " images of " +
                     image_path.filename().string() + "; there must be one for each");
  }
  for (std::size_t i = 0; i < labels.values.size(); ++i) {
    if (labels.values[i] >= kind.classes) {
      wrong_label(label_path.string(), i, labels.values[i], kind.classes);
    }
  }
  return {.samples = fits ? std::move(images.values)
                          : with_margin(images.values, height, width, kind.image),
          .labels = std::vector<std::int32_t>(labels.values.begin(), labels.values.end()),
          .count = images.extents[0]};
}

// ---- Files of records ------------------------------------------------------------------------

/// The folder's files with names PREFIX...bin, sorted.
std::vector<std::filesystem::path> record_files(const std::filesystem::path& folder,
                                                const std::string& prefix) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(prefix) && name.ends_with(".bin")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

struct RecordFolder {
  RecordFormat format;
  std::string train;  ///< how the names of its files start
  std::string test;
};

SampleSet read_record_set(const std::filesystem::path& folder, const std::string& prefix,
                          const Dataset& dataset, const RecordFormat& format) {
  const std::vector<std::filesystem::path> files = record_files(folder, prefix);
  if (files.empty()) {
    throw InputError(folder.string() + ": no file " + prefix + "*.bin; the folder must hold one");
  }
  const std::string what = "records of a label of " + std::to_string(format.label_bytes * 8) +
                           " bits and " + std::to_string(dataset.sample_bytes()) +
                           " bytes of pixels";
  SampleSet set;
  for (const std::filesystem::path& file : files) {
    append_records(read_file_bytes(file, what), file.string(), dataset.sample_shape,
                   dataset.classes, format, set);
    if (set.samples.size() > kLargestDataFile) {
      throw InputError(folder.string() + ": more than " + std::to_string(kLargestDataFile) +
                       " bytes of images; so many are not held in memory");
    }
  }
  return set;
}

void read_record_folder(Dataset& dataset, const std::string& source, const RecordFolder& folder) {
  dataset.train = read_record_set(source, folder.train, dataset, folder.format);
  dataset.test = read_record_set(source, folder.test, dataset, folder.format);
}

}  // namespace

void append_records(std::span<const std::uint8_t> file, const std::string& name, const Shape& image,
                    std::int64_t classes, const RecordFormat& format, SampleSet& set) {
  const auto image_bytes = static_cast<std::size_t>(image.elements());
  const std::size_t record = format.label_bytes + image_bytes;
  if (file.empty() || file.size() % record != 0) {
    throw InputError(name + ": " + std::to_string(file.size()) +
                     " bytes are no whole number of records, which have " + std::to_string(record));
  }
  const auto channels = static_cast<std::size_t>(image[2]);
  const std::size_t pixels = image_bytes / channels;
  for (std::size_t first = 0; first < file.size(); first += record) {
    std::int32_t label = 0;
    for (std::size_t i = format.label_bytes; i-- > 0;) label = label << 8 | file[first + i];
    if (label >= classes) wrong_label(name, first / record, label, classes);
    set.labels.push_back(label);
    const auto image_bytes_of = file.subspan(first + format.label_bytes, image_bytes);
    const std::size_t start = set.samples.size();
    set.samples.insert(set.samples.end(), image_bytes_of.begin(), image_bytes_of.end());
    if (!format.planar) continue;
    for (std::size_t i = 0; i < image_bytes; ++i) {
      set.samples[start + i] = image_bytes_of[i % channels * pixels + i / channels];
    }
  }
  set.count += static_cast<std::int64_t>(file.size() / record);
}

std::filesystem::path fashion_mnist_folder() { return "/usr/share/datasets/fashion-mnist"; }

Dataset read_idx_images(const DataKind& kind, const std::string& source,
                        const SequenceShape& shape) {
  require_folder(source, "the four IDX files");
  Dataset dataset = empty_dataset(kind, source, shape);
  dataset.train = read_idx_samples(kind, source, "train");
  dataset.test = read_idx_samples(kind, source, "t10k");
  return dataset;
}

Dataset read_images32(const DataKind& kind, const std::string& source, const SequenceShape& shape) {
  require_folder(source, "CIFAR-10's data_batch_*.bin and test_batch.bin, or four IDX files");
  const RecordFolder cifar{
      .format = {.label_bytes = 1, .planar = true}, .train = "data_batch_", .test = "test_batch"};
  if (record_files(source, cifar.train).empty() && record_files(source, cifar.test).empty()) {
    return read_idx_images(kind, source, shape);
  }
  Dataset dataset = empty_dataset(kind, source, shape);
  dataset.sample_shape = Shape{kind.image[0], kind.image[1], kCifarChannels};
  read_record_folder(dataset, source, cifar);
  return dataset;
}

Dataset read_record_images(const DataKind& kind, const std::string& source,
                           const SequenceShape& shape) {
  require_folder(source, "train*.bin and test*.bin, records of a label and pixels");
  Dataset dataset = empty_dataset(kind, source, shape);
  read_record_folder(dataset, source,
                     {.format = {.label_bytes = 2}, .train = "train", .test = "test"});
  return dataset;
}

}  // namespace trainbench
