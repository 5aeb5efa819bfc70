#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace trainbench {

/// A folder that stands for a machine's root, with the files of /proc and /sys that a test writes.
class FakeHost {
 public:
  FakeHost() {
    std::string name = (std::filesystem::temp_directory_path() / "trainbench-host-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    root_ = name;
  }
  FakeHost(FakeHost&& other) noexcept : root_(std::exchange(other.root_, {})) {}
  FakeHost& operator=(FakeHost&&) = delete;
  ~FakeHost() {
    std::error_code ignored;
    if (!root_.empty()) std::filesystem::remove_all(root_, ignored);
  }

  const std::filesystem::path& root() const { return root_; }

  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path file = root_ / path;
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
  std::filesystem::path root_;
};

}  // namespace trainbench
