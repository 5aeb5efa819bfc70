#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "common/system/unique_folder.h"

namespace trainbench::testing {

/// A new folder that goes with its owner.
class TemporaryFolder {
 public:
  TemporaryFolder()
      : path_(
            make_unique_folder((std::filesystem::temp_directory_path() / "trainbench-").string())) {
  }
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  const std::filesystem::path& path() const { return path_; }
  /// The path of a file in it.
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace trainbench::testing
