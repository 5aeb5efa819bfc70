#include "common/data/gzip.h"

#include <algorithm>
#include <limits>
#include <new>

#include "common/core/error.h"

namespace trainbench {
namespace {

// zlib counts in unsigned int.
uInt clamp_count(std::size_t count) {
  return static_cast<uInt>(std::min<std::size_t>(count, std::numeric_limits<uInt>::max()));
}

}  // namespace

bool is_gzip(std::span<const std::uint8_t> bytes) {
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

GzipStream::GzipStream(std::span<const std::uint8_t> compressed, std::string name)
    : rest_(compressed), name_(std::move(name)) {
  constexpr int kGzipOnly = 16;
  if (inflateInit2(&stream_, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
}

GzipStream::~GzipStream() { inflateEnd(&stream_); }

std::size_t GzipStream::read(std::span<std::uint8_t> out) {
  std::size_t written = 0;
  while (written < out.size() && !ended_) {
    const uInt input = clamp_count(rest_.size());
    const uInt room = clamp_count(out.size() - written);
    stream_.next_in = const_cast<Bytef*>(rest_.data());  // zlib reads only
    stream_.avail_in = input;
    stream_.next_out = out.data() + written;
    stream_.avail_out = room;
    const int result = inflate(&stream_, Z_NO_FLUSH);
    rest_ = rest_.subspan(input - stream_.avail_in);
    written += room - stream_.avail_out;
    if (result == Z_STREAM_END) {
      ended_ = rest_.empty();
      if (!ended_) inflateReset(&stream_);
    } else if (result == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (result == Z_BUF_ERROR) {
      throw InputError(name_ + ": the gzip data stops early; the file must be whole");
    } else if (result != Z_OK) {
      throw InputError(name_ + ": the gzip data is damaged" +
                       (stream_.msg == nullptr ? "" : " (" + std::string(stream_.msg) + ")") +
                       "; `gzip -t` must accept the file");
    }
  }
  return written;
}

}  // namespace trainbench
