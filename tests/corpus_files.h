#pragma once

#include <algorithm>
#include <filesystem>
#include <vector>

namespace trainbench {

/// The JSON files of a folder, sorted.
inline std::vector<std::filesystem::path> json_files_of(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace trainbench
