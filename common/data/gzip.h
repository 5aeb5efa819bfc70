#pragma once

#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace trainbench {

/// True if the bytes start like a gzip file (RFC 1952).
bool is_gzip(std::span<const std::uint8_t> bytes);

/// Decompresses a gzip file in memory piece by piece, so that its reader decides how much memory
/// that takes. Members that follow one another count as one file, as RFC 1952 has it.
class GzipStream {
 public:
  /// `compressed` must outlive the stream; `name` starts its error messages.
  GzipStream(std::span<const std::uint8_t> compressed, std::string name);
  ~GzipStream();
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  /// Fills `out` and returns the bytes written: fewer than asked for only at the end of the file.
  /// Throws InputError where the data is damaged or stops early.
  std::size_t read(std::span<std::uint8_t> out);

 private:
  std::span<const std::uint8_t> rest_;  // not yet given to zlib
  std::string name_;
  z_stream stream_{};
  bool ended_ = false;
};

}  // namespace trainbench
