#pragma once

#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "common/core/error.h"

namespace trainbench::testing {

using Bytes = std::vector<std::uint8_t>;

/// An IDX file of unsigned bytes with any header, right or wrong.
inline Bytes idx_bytes(const std::vector<std::uint32_t>& extents, const Bytes& values) {
  Bytes file{0, 0, 0x08, static_cast<std::uint8_t>(extents.size())};
  for (const std::uint32_t extent : extents) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      file.push_back(static_cast<std::uint8_t>(extent >> shift));
    }
  }
  file.insert(file.end(), values.begin(), values.end());
  return file;
}

/// The bytes 0, 1, 2, ... modulo `modulus`.
inline Bytes counting_bytes(std::size_t count, std::size_t modulus = 256) {
  Bytes values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::uint8_t>(i % modulus);
  return values;
}

inline Bytes gzip(const Bytes& plain) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, MAX_WBITS + 16, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("deflateInit2");
  }
  Bytes compressed(deflateBound(&stream, plain.size()));
  stream.next_in = const_cast<Bytef*>(plain.data());
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = compressed.data();
  stream.avail_out = static_cast<uInt>(compressed.size());
  const int result = deflate(&stream, Z_FINISH);
  compressed.resize(stream.total_out);
  deflateEnd(&stream);
  if (result != Z_STREAM_END) throw std::runtime_error("deflate");
  return compressed;
}

inline void write_file(const std::filesystem::path& path, const Bytes& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

/// The message of the InputError that `f` throws; "" if it throws none.
template <class F>
std::string input_error_of(F&& f) {
  try {
    f();
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

/// One line that starts with `name` and says `fault`.
inline ::testing::AssertionResult is_one_line(const std::string& message, const std::string& name,
                                              const std::string& fault) {
  if (message.rfind(name + ": ", 0) == 0 && message.find('\n') == std::string::npos &&
      message.find(fault) != std::string::npos) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << "\"" << message << "\" should be one line that starts with " << name << " and says \""
         << fault << "\"";
}

}  // namespace trainbench::testing
