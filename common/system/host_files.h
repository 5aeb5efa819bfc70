#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace trainbench {

/// The file as text, without trailing white space; nothing where it cannot be read. For the small
/// files of /proc and /sys, whose size is unknown before they are read.
std::optional<std::string> read_host_file(const std::filesystem::path& path);

/// The lines of `text`; an empty last line is left out.
std::vector<std::string> split_lines(const std::string& text);

/// The kernel's list format, "0-3,8,10-11", as sorted numbers; malformed parts are left out.
std::vector<int> parse_cpu_list(const std::string& text);

/// A line of /proc/meminfo, in the unit that it has there.
std::optional<std::uint64_t> meminfo(const std::filesystem::path& root, const std::string& key);

}  // namespace trainbench
