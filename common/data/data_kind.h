#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/data/dataset.h"

namespace trainbench {

/// What all data of a kind have in common, whatever their source.
struct DataKind {
  std::string_view name;
  Shape image;  ///< [height, width, channels]; empty for sequences
  DType dtype = DType::u8;
  std::int64_t classes = 0;   ///< of labels, or the default vocabulary of tokens
  std::int64_t steps = 0;     ///< a sequence's by default
  SyntheticSize synthetic{};  ///< samples by default; of sequences: elements
  /// From a source that is neither "" nor "synthetic"; `shape` is filled in.
  Dataset (*read)(const DataKind& kind, const std::string& source,
                  const SequenceShape& shape) = nullptr;
  std::string (*default_source)() = nullptr;

  bool is_sequence() const { return image.rank() == 0; }
};

/// A set of that kind without samples yet.
Dataset empty_dataset(const DataKind& kind, std::string name, const SequenceShape& shape);

/// Cuts a sequence's elements (`bytes`) into windows, the last tenth of them for the test set.
/// Throws InputError that starts with `name` where they do not make a sample for each.
void split_sequence(Dataset& dataset, const std::string& name, std::vector<std::uint8_t> bytes);

}  // namespace trainbench
