#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace trainbench {

/// The contents of an IDX file of unsigned bytes, row-major, outermost extent first.
struct IdxArray {
  std::vector<std::int64_t> extents;
  std::vector<std::uint8_t> values;
};

/// Most bytes an array may have; what a header may ask for.
inline constexpr std::uint64_t kLargestIdx = std::uint64_t{1} << 32;

/// Reads an IDX file of `rank` extents, plain or gzipped, from memory. The format is that of the
/// MNIST database (LeCun, Cortes, Burges): two zero bytes, element type, rank, extents as
/// big-endian 32-bit numbers, elements. Throws InputError that starts with `name`. Memory grows
/// with the bytes really there, never with what the header says.
IdxArray parse_idx(std::span<const std::uint8_t> file, const std::string& name, std::size_t rank);

/// The same from a file.
IdxArray read_idx(const std::filesystem::path& path, std::size_t rank);

}  // namespace trainbench
