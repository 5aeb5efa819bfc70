#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/temporary_folder.h"

namespace trainbench {

/// A folder that stands for a machine's root, with the files of /proc and /sys that a test writes.
class FakeHost {
 public:
  const std::filesystem::path& root() const { return folder_.path(); }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }

  /// cache/indexN of the CPU whose sysfs folder is `cpu` (ends with a slash).
  void write_cache(const std::string& cpu, int index, const std::string& level,
                   const std::string& type, const std::string& size,
                   const std::string& shared) const {
    const std::string folder = cpu + "cache/index" + std::to_string(index) + "/";
    write(folder + "level", level + "\n");
    write(folder + "type", type + "\n");
    write(folder + "size", size + "\n");
    write(folder + "shared_cpu_list", shared + "\n");
  }

 private:
  testing::TemporaryFolder folder_;
};

}  // namespace trainbench
