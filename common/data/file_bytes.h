#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace trainbench {

/// Most bytes of a data file that are read.
inline constexpr std::uint64_t kLargestDataFile = std::uint64_t{1} << 32;

/// A file's bytes. `what` says what it must be: "text", "an IDX file". Throws InputError that
/// starts with the path where there is no such file, or it is empty, too large or cannot be read.
std::vector<std::uint8_t> read_file_bytes(const std::filesystem::path& path,
                                          const std::string& what);

}  // namespace trainbench
