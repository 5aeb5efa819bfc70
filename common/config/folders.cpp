#include <algorithm>
#include <set>

#include "common/config/spelling.h"
#include "common/config/suite.h"
#include "common/core/error.h"

namespace trainbench {

std::vector<std::filesystem::path> config_folders() {
  std::vector<std::filesystem::path> candidates;
  std::error_code error;
  const auto binary = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    candidates.push_back(binary.parent_path() / "configs");
    candidates.push_back(binary.parent_path().parent_path() / "share/trainbench/configs");
  }
  candidates.push_back(std::filesystem::path(TRAINBENCH_SOURCE_DIR) / "configs");
  std::erase_if(candidates, [&](const std::filesystem::path& folder) {
    return !std::filesystem::is_directory(folder, error);
  });
  return candidates;
}

std::vector<std::string> suite_names() {
  std::set<std::string> names;
  for (const std::filesystem::path& folder : config_folders()) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      if (entry.path().extension() == ".json") names.insert(entry.path().stem().string());
    }
  }
  return {names.begin(), names.end()};
}

std::string suite_help() {
  const std::vector<std::string> names = suite_names();
  return "A suite (" + joined({names.begin(), names.end()}) + ") or a JSON file";
}

std::filesystem::path find_suite(const std::string& name_or_file) {
  const std::filesystem::path path(name_or_file);
  if (path.has_parent_path() || path.extension() == ".json") return path;
  for (const std::filesystem::path& folder : config_folders()) {
    std::error_code error;
    const std::filesystem::path file = folder / (name_or_file + ".json");
    if (std::filesystem::exists(file, error)) return file;
  }
  const std::vector<std::string> names = suite_names();
  const std::string hint = names.empty()
                               ? "no configs folder was found"
                               : right_spelling(name_or_file, {names.begin(), names.end()});
  throw InputError("no suite is called " + in_quotes(name_or_file) + "; " + hint +
                   " (a file's name ends in .json)");
}

}  // namespace trainbench
