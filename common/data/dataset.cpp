#include "common/data/dataset.h"

#include <array>

#include "common/config/spelling.h"
#include "common/core/error.h"
#include "common/data/data_kind.h"
#include "common/data/image_files.h"
#include "common/data/synthetic.h"
#include "common/data/text.h"

namespace trainbench {
namespace {

constexpr std::string_view kSynthetic = "synthetic";

const std::vector<DataKind>& kinds() {
  const auto synthetic = [] { return std::string(kSynthetic); };
  const auto fashion = [] {
    std::error_code error;
    return std::filesystem::is_directory(fashion_mnist_folder(), error)
               ? fashion_mnist_folder().string()
               : std::string(kSynthetic);
  };
  const auto bible = [] { return std::string(has_bible() ? kBible : kSynthetic); };
  static const std::vector<DataKind> table{
      {.name = "images28",
       .image = Shape{28, 28, 1},
       .classes = 10,
       .synthetic = {.train = 60000, .test = 10000},
       .read = read_idx_images,
       .default_source = fashion},
      {.name = "images32",
       .image = Shape{32, 32, 1},
       .classes = 10,
       .synthetic = {.train = 50000, .test = 10000},
       .read = read_images32,
       .default_source = fashion},
      {.name = "images224",
       .image = Shape{224, 224, 3},
       .classes = 1000,
       .synthetic = {.train = 768, .test = 64},  // 125 MB
       .read = read_record_images,
       .default_source = synthetic},
      {.name = "text",
       .classes = kAsciiCharacters,
       .steps = 64,
       .synthetic = {.train = 900'000, .test = 100'000},
       .read = read_text,
       .default_source = bible},
      {.name = "tokens",
       .dtype = DType::i32,
       .classes = 50257,
       .steps = 1024,
       .synthetic = {.train = 900'000, .test = 100'000},
       .read = read_tokens,
       .default_source = synthetic},
  };
  return table;
}

const DataKind& kind_by_name(std::string_view name) {
  for (const DataKind& kind : kinds()) {
    if (kind.name == name) return kind;
  }
  throw InputError("unknown kind of data " + in_quotes(name) + "; one of " + joined(data_kinds()));
}

SequenceShape completed(const DataKind& kind, SequenceShape shape) {
  if (shape.steps == 0) shape.steps = kind.steps;
  if (shape.vocabulary == 0) shape.vocabulary = kind.classes;
  if (kind.is_sequence() && kind.dtype == DType::u8 && shape.vocabulary < kAsciiCharacters) {
    throw InputError("size \"vocabulary\" is " + std::to_string(shape.vocabulary) + "; " +
                     std::string(kind.name) + " needs at least " +
                     std::to_string(kAsciiCharacters));
  }
  return shape;
}

}  // namespace

Dataset empty_dataset(const DataKind& kind, std::string name, const SequenceShape& shape) {
  return {.name = std::move(name),
          .synthetic = false,
          .sample_shape = kind.is_sequence() ? Shape{shape.steps + 1} : kind.image,
          .dtype = kind.dtype,
          .classes = kind.is_sequence() ? shape.vocabulary : kind.classes,
          .train = {},
          .test = {}};
}

void split_sequence(Dataset& dataset, const std::string& name, std::vector<std::uint8_t> bytes) {
  const auto element = static_cast<std::int64_t>(size_of(dataset.dtype));
  const std::int64_t elements = static_cast<std::int64_t>(bytes.size()) / element;
  const std::int64_t window = dataset.sample_shape[0];
  const std::int64_t test = elements / 10;
  if (test < window) {
    throw InputError(name + ": " + std::to_string(elements) +
                     " characters or tokens; sequences of " + std::to_string(dataset.steps()) +
                     " steps need at least " + std::to_string(10 * window) +
                     ", the last tenth of them to test on");
  }
  const auto middle = bytes.begin() + static_cast<std::ptrdiff_t>((elements - test) * element);
  dataset.test.samples.assign(middle, bytes.end());
  bytes.erase(middle, bytes.end());
  dataset.train.samples = std::move(bytes);
  dataset.train.count = (elements - test - 1) / dataset.steps();
  dataset.test.count = (test - 1) / dataset.steps();
}

Dataset make_synthetic_dataset(std::string_view kind_name, std::uint64_t seed,
                               const SyntheticSize& size, const SequenceShape& sequence) {
  const DataKind& kind = kind_by_name(kind_name);
  const SyntheticSize wanted = size.train == 0 ? kind.synthetic : size;
  require(wanted.train > 0 && wanted.test > 0, "a synthetic set has samples");
  Dataset dataset = empty_dataset(kind, std::string(kSynthetic), completed(kind, sequence));
  dataset.synthetic = true;
  if (kind.is_sequence()) {
    const std::int64_t elements = wanted.train + wanted.test;
    split_sequence(dataset, dataset.name,
                   kind.dtype == DType::u8 ? synthetic_text(seed, elements)
                                           : synthetic_tokens(seed, elements, dataset.classes));
  } else {
    fill_synthetic_images(dataset, seed, wanted);
  }
  return dataset;
}

std::string default_source(std::string_view kind_name) {
  return kind_by_name(kind_name).default_source();
}

std::vector<std::string_view> data_kinds() {
  std::vector<std::string_view> names;
  for (const DataKind& kind : kinds()) names.push_back(kind.name);
  return names;
}

Dataset load_dataset(std::string_view kind_name, const std::string& source, std::uint64_t seed,
                     const SequenceShape& sequence) {
  const DataKind& kind = kind_by_name(kind_name);
  const std::string used = source.empty() ? kind.default_source() : source;
  if (used == kSynthetic) return make_synthetic_dataset(kind_name, seed, {}, sequence);
  Dataset dataset = kind.read(kind, used, completed(kind, sequence));
  if (used == fashion_mnist_folder()) dataset.name = "fashion-mnist";
  return dataset;
}

}  // namespace trainbench
