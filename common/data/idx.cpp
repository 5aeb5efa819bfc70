#include "common/data/idx.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <optional>

#include "common/core/error.h"
#include "common/data/file_bytes.h"
#include "common/data/gzip.h"

namespace trainbench {
namespace {

constexpr std::uint8_t kUnsignedByte = 0x08;
constexpr std::size_t kFirstPiece = std::size_t{1} << 16;

std::string hex(std::uint8_t byte) {
  std::array<char, 3> text{};
  std::snprintf(text.data(), text.size(), "%02x", byte);
  return text.data();
}

std::string product_of(const std::vector<std::int64_t>& extents) {
  std::string text;
  for (const std::int64_t extent : extents) {
    if (!text.empty()) text += 'x';
    text += std::to_string(extent);
  }
  return text;
}

// The bytes of a plain or a gzipped file, in order.
class ByteStream {
 public:
  ByteStream(std::span<const std::uint8_t> file, const std::string& name) : rest_(file) {
    if (is_gzip(file)) gzip_.emplace(file, name);
  }

  // Returns fewer bytes than asked for only at the end.
  std::size_t read(std::span<std::uint8_t> out) {
    if (gzip_) return gzip_->read(out);
    const std::size_t count = std::min(out.size(), rest_.size());
    std::copy_n(rest_.begin(), count, out.begin());
    rest_ = rest_.subspan(count);
    return count;
  }

 private:
  std::span<const std::uint8_t> rest_;
  std::optional<GzipStream> gzip_;
};

void read_header(ByteStream& stream, const std::string& name, std::span<std::uint8_t> out) {
  if (stream.read(out) < out.size()) {
    throw InputError(name +
                     ": the file ends within its header; an IDX file has 4 bytes and then 4 "
                     "for each extent");
  }
}

std::vector<std::int64_t> read_extents(ByteStream& stream, const std::string& name,
                                       std::size_t rank) {
  std::array<std::uint8_t, 4> word{};
  read_header(stream, name, word);
  if (word[0] != 0 || word[1] != 0) {
    throw InputError(name + ": not an IDX file: it starts with " + hex(word[0]) + " " +
                     hex(word[1]) + "; an IDX file starts with 00 00, a gzipped one with 1f 8b");
  }
  if (word[2] != kUnsignedByte) {
    throw InputError(name + ": elements of type 0x" + hex(word[2]) +
                     "; they must be unsigned bytes (type 0x08)");
  }
  if (word[3] != rank) {
    throw InputError(name + ": " + std::to_string(word[3]) + " extents; there must be " +
                     std::to_string(rank));
  }
  std::vector<std::int64_t> extents;
  for (std::size_t axis = 0; axis < rank; ++axis) {
    read_header(stream, name, word);
    extents.push_back(std::int64_t{word[0]} << 24 | std::int64_t{word[1]} << 16 |
                      std::int64_t{word[2]} << 8 | std::int64_t{word[3]});
  }
  return extents;
}

std::size_t checked_size(const std::vector<std::int64_t>& extents, const std::string& name) {
  std::uint64_t size = 1;
  for (const std::int64_t extent : extents) {
    if (extent == 0) {
      throw InputError(name + ": no elements: the header says " + product_of(extents) +
                       "; every extent must be at least 1");
    }
    if (static_cast<std::uint64_t>(extent) > kLargestIdx / size) {
      throw InputError(name + ": the header says " + product_of(extents) + " bytes; at most " +
                       std::to_string(kLargestIdx) + " are read");
    }
    size *= static_cast<std::uint64_t>(extent);
  }
  return static_cast<std::size_t>(size);
}

}  // namespace

IdxArray parse_idx(std::span<const std::uint8_t> file, const std::string& name, std::size_t rank) {
  ByteStream stream(file, name);
  IdxArray array{.extents = read_extents(stream, name, rank), .values = {}};
  const std::size_t expected = checked_size(array.extents, name);
  const std::string promise = std::to_string(expected) + " bytes of elements (" +
                              product_of(array.extents) + ") that its header says";

  std::size_t held = 0;
  while (held < expected) {
    array.values.resize(std::min(expected, std::max(kFirstPiece, 2 * held)));
    const std::size_t count = stream.read(std::span(array.values).subspan(held));
    held += count;
    if (held < array.values.size()) {
      throw InputError(name + ": truncated: " + std::to_string(held) + " of the " + promise);
    }
  }
  std::array<std::uint8_t, 1> beyond{};
  if (stream.read(beyond) > 0) {
    throw InputError(name + ": trailing bytes after the " + promise);
  }
  return array;
}

IdxArray read_idx(const std::filesystem::path& path, std::size_t rank) {
  return parse_idx(read_file_bytes(path, "an IDX file, plain or gzipped"), path.string(), rank);
}

}  // namespace trainbench
