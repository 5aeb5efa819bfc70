#pragma once

#include <span>

#include "common/data/data_kind.h"

namespace trainbench {

/// How an image and its label lie in a file of such records.
struct RecordFormat {
  std::size_t label_bytes = 1;  ///< little-endian
  bool planar = false;          ///< all of a channel before the next one, else pixel by pixel
};

/// Appends a file's records to `set`; images become [height, width, channels]. Throws InputError
/// that starts with `name` where a record is cut off or a label is none of the `classes`.
void append_records(std::span<const std::uint8_t> file, const std::string& name, const Shape& image,
                    std::int64_t classes, const RecordFormat& format, SampleSet& set);

/// A folder with the four files of the MNIST family. Where they are smaller than the kind's images,
/// these get a margin of zeros.
Dataset read_idx_images(const DataKind& kind, const std::string& source,
                        const SequenceShape& shape);

/// CIFAR-10's binary files, or those of the MNIST family.
Dataset read_images32(const DataKind& kind, const std::string& source, const SequenceShape& shape);

/// train*.bin and test*.bin.
Dataset read_record_images(const DataKind& kind, const std::string& source,
                           const SequenceShape& shape);

}  // namespace trainbench
