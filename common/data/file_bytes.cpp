#include "common/data/file_bytes.h"

#include <cerrno>
#include <cstring>
#include <fstream>

#include "common/core/error.h"

namespace trainbench {

std::vector<std::uint8_t> read_file_bytes(const std::filesystem::path& path,
                                          const std::string& what) {
  const std::string name = path.string();
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    throw InputError(name + ": no such file; it must be " + what);
  }
  const std::uintmax_t size = std::filesystem::file_size(path, error);
  if (error) throw InputError(name + ": cannot be read: " + error.message());
  if (size == 0) throw InputError(name + ": empty; it must be " + what);
  if (size > kLargestDataFile) {
    throw InputError(name + ": " + std::to_string(size) + " bytes; at most " +
                     std::to_string(kLargestDataFile) + " are read");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(name + ": cannot be read: " + std::strerror(errno));
  std::vector<std::uint8_t> bytes(static_cast<std::size_t>(size));
  file.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (file.gcount() != static_cast<std::streamsize>(bytes.size())) {
    throw InputError(name + ": cannot be read to its end");
  }
  return bytes;
}

}  // namespace trainbench
