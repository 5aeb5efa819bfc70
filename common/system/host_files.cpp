#include "common/system/host_files.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>

namespace trainbench {
namespace {

// Bounds a range like "0-2147483647" that no machine has but a damaged file might.
constexpr int kMaxCpus = 1 << 16;

}  // namespace

std::optional<std::string> read_host_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) return std::nullopt;
  text.erase(text.find_last_not_of(" \t\r\n") + 1);
  return text;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

std::vector<int> parse_cpu_list(const std::string& text) {
  std::vector<int> cpus;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) {
    int first = 0;
    const char* end = part.data() + part.size();
    auto [next, error] = std::from_chars(part.data(), end, first);
    if (error != std::errc() || first < 0) continue;
    int last = first;
    if (next != end && *next == '-') std::from_chars(next + 1, end, last);
    for (int cpu = first; cpu <= std::min(last, kMaxCpus); ++cpu) cpus.push_back(cpu);
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return cpus;
}

std::optional<std::uint64_t> meminfo(const std::filesystem::path& root, const std::string& key) {
  for (const std::string& line : split_lines(read_host_file(root / "proc/meminfo").value_or(""))) {
    if (!line.starts_with(key + ":")) continue;
    std::uint64_t value = 0;
    if (std::istringstream(line.substr(key.size() + 1)) >> value) return value;
  }
  return std::nullopt;
}

}  // namespace trainbench
