#include "common/data/dataset.h"

#include <algorithm>
#include <array>
#include <span>

#include "common/core/error.h"
#include "common/core/philox.h"
#include "common/data/idx.h"

namespace trainbench {
namespace {

struct DataKind {
  std::string_view name;
  std::int64_t height;
  std::int64_t width;
  std::int64_t channels;
  std::int64_t classes;
};

constexpr std::array kDataKinds{
    DataKind{.name = "images28", .height = 28, .width = 28, .channels = 1, .classes = 10}};

const DataKind& kind_by_name(std::string_view name) {
  std::string known;
  for (const DataKind& kind : kDataKinds) {
    if (kind.name == name) return kind;
    if (!known.empty()) known += ", ";
    known += kind.name;
  }
  throw InputError("unknown kind of data \"" + std::string(name) + "\"; one of " + known);
}

Dataset empty_dataset(const DataKind& kind, std::string name, bool synthetic) {
  return {.name = std::move(name),
          .synthetic = synthetic,
          .sample_shape = Shape{kind.height, kind.width, kind.channels},
          .classes = kind.classes,
          .train = {},
          .test = {}};
}

// ---- Files of the MNIST family ---------------------------------------------------------------

std::filesystem::path find_idx(const std::filesystem::path& folder, const std::string& stem) {
  const std::filesystem::path plain = folder / stem;
  std::filesystem::path gzipped = plain;
  gzipped += ".gz";
  std::error_code error;
  if (std::filesystem::exists(plain, error)) return plain;
  if (std::filesystem::exists(gzipped, error)) return gzipped;
  throw InputError(plain.string() +
                   ": no such file, nor with .gz; the folder must hold train-images-idx3-ubyte, "
                   "train-labels-idx1-ubyte, t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte");
}

SampleSet read_samples(const DataKind& kind, const std::filesystem::path& folder,
                       const std::string& prefix) {
  const std::filesystem::path image_path = find_idx(folder, prefix + "-images-idx3-ubyte");
  const std::filesystem::path label_path = find_idx(folder, prefix + "-labels-idx1-ubyte");
  IdxArray images = read_idx(image_path, 3);
  const IdxArray labels = read_idx(label_path, 1);

  if (images.extents[1] != kind.height || images.extents[2] != kind.width) {
    throw InputError(image_path.string() + ": images of " + std::to_string(images.extents[1]) +
                     "x" + std::to_string(images.extents[2]) + "; " + std::string(kind.name) +
                     " needs " + std::to_string(kind.height) + "x" + std::to_string(kind.width));
  }
  if (labels.extents[0] != images.extents[0]) {
    throw InputError(label_path.string() + ": " + std::to_string(labels.extents[0]) +
                     " labels for the " + std::to_string(images.extents[0]) + " images of " +
                     image_path.filename().string() + "; there must be one for each");
  }
  const auto wrong =
      std::find_if(labels.values.begin(), labels.values.end(),
                   [&](std::uint8_t label) { return std::int64_t{label} >= kind.classes; });
  if (wrong != labels.values.end()) {
    throw InputError(
        label_path.string() + ": label " + std::to_string(wrong - labels.values.begin()) + " is " +
        std::to_string(*wrong) + "; labels must be below " + std::to_string(kind.classes));
  }
  return {.samples = std::move(images.values),
          .labels = std::vector<std::int32_t>(labels.values.begin(), labels.values.end())};
}

Dataset read_dataset(const DataKind& kind, const std::filesystem::path& folder, std::string name) {
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    throw InputError(folder.string() +
                     ": no such folder; data is a folder with the four IDX files or \"synthetic\"");
  }
  Dataset dataset = empty_dataset(kind, std::move(name), false);
  dataset.train = read_samples(kind, folder, "train");
  dataset.test = read_samples(kind, folder, "t10k");
  return dataset;
}

// ---- The synthetic set -----------------------------------------------------------------------

// Streams of the generator; sample i of a set draws from the set's stream + i.
constexpr std::uint64_t kPrototypeStream = std::uint64_t{0x73796e} << 40;
constexpr std::uint64_t kTrainStream = kPrototypeStream + (std::uint64_t{1} << 36);
constexpr std::uint64_t kTestStream = kPrototypeStream + (std::uint64_t{2} << 36);

// The bytes of consecutive words of a stream, least significant first.
void random_bytes(std::uint64_t seed, std::uint64_t stream, std::span<std::uint8_t> out) {
  constexpr std::size_t kBlockBytes = 16;
  const Philox random(seed, stream);
  for (std::size_t first = 0; first < out.size(); first += kBlockBytes) {
    const PhiloxWords block = random.block(first / kBlockBytes);
    const std::size_t count = std::min(kBlockBytes, out.size() - first);
    for (std::size_t i = 0; i < count; ++i) {
      out[first + i] = static_cast<std::uint8_t>(block.word[i / 4] >> (8 * (i % 4)));
    }
  }
}

SampleSet make_samples(const Dataset& dataset, const std::vector<std::uint8_t>& prototypes,
                       std::uint64_t seed, std::uint64_t stream, std::int64_t count) {
  const auto bytes = static_cast<std::size_t>(dataset.sample_bytes());
  const auto size = static_cast<std::size_t>(count);
  SampleSet set;
  set.samples.resize(size * bytes);
  set.labels.resize(size);
  for (std::size_t i = 0; i < size; ++i) {
    const std::size_t label = i % static_cast<std::size_t>(dataset.classes);
    set.labels[i] = static_cast<std::int32_t>(label);
    const std::span<std::uint8_t> sample = std::span(set.samples).subspan(i * bytes, bytes);
    random_bytes(seed, stream + i, sample);
    const std::uint8_t* prototype = prototypes.data() + label * bytes;
    for (std::size_t p = 0; p < bytes; ++p) {
      sample[p] = static_cast<std::uint8_t>((prototype[p] + 3 * sample[p]) / 4);
    }
  }
  return set;
}

}  // namespace

Dataset make_synthetic_dataset(std::string_view kind_name, std::uint64_t seed, SyntheticSize size) {
  require(size.train > 0 && size.test > 0, "a synthetic set has samples");
  const DataKind& kind = kind_by_name(kind_name);
  Dataset dataset = empty_dataset(kind, "synthetic", true);
  std::vector<std::uint8_t> prototypes(
      static_cast<std::size_t>(kind.classes * dataset.sample_bytes()));
  random_bytes(seed, kPrototypeStream, prototypes);
  dataset.train = make_samples(dataset, prototypes, seed, kTrainStream, size.train);
  dataset.test = make_samples(dataset, prototypes, seed, kTestStream, size.test);
  return dataset;
}

std::filesystem::path fashion_mnist_folder() { return "/usr/share/datasets/fashion-mnist"; }

std::string default_source(std::string_view kind_name) {
  kind_by_name(kind_name);
  std::error_code error;
  return std::filesystem::is_directory(fashion_mnist_folder(), error) ? fashion_mnist_folder()
                                                                      : "synthetic";
}

Dataset load_dataset(std::string_view kind_name, const std::string& source, std::uint64_t seed) {
  const DataKind& kind = kind_by_name(kind_name);
  const std::string used = source.empty() ? default_source(kind_name) : source;
  if (used == "synthetic") return make_synthetic_dataset(kind_name, seed);
  return read_dataset(kind, used, source.empty() ? "fashion-mnist" : source);
}

}  // namespace trainbench
