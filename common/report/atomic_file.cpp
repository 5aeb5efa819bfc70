#include "common/report/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "common/core/error.h"
#include "common/report/descriptor.h"

namespace trainbench {
namespace {

/// A name in the same folder, so that a rename stays within one file system.
std::string temporary_name(const std::string& path) {
  return path + ".tmp" + std::to_string(::getpid());
}

bool is_special(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored);
}

void require_name(const std::string& path) {
  if (path.empty()) throw InputError("an output file needs a name");
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored) || path.back() == '/') {
    throw InputError(path + ": is a folder; a file's name is needed");
  }
}

void make_parent(const std::filesystem::path& path) {
  if (!path.has_parent_path()) return;
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) {
    throw InputError(path.string() + ": cannot make its folder: " + error.message());
  }
}

/// Removes the temporary file unless it has become the real one.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string path) : path_(std::move(path)) {}
  ~TemporaryFile() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void become(const std::string& path) {
    if (std::rename(path_.c_str(), path.c_str()) != 0) throw_system_error(path, "be written");
    path_.clear();
  }

 private:
  std::string path_;
};

}  // namespace

void prepare_output(const std::string& path) {
  require_name(path);
  if (is_special(path)) {
    if (::access(path.c_str(), W_OK) != 0) throw_system_error(path, "be written");
    return;
  }
  make_parent(path);
  const std::string temporary = temporary_name(path);
  const TemporaryFile removed(temporary);
  const int tried = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (tried < 0) throw_system_error(path, "be written");
  ::close(tried);
}

void write_file_atomically(const std::string& path, const std::string& contents) {
  require_name(path);
  if (is_special(path)) {
    Descriptor(path, O_WRONLY).write(contents);
    return;
  }
  make_parent(path);
  const std::string temporary = temporary_name(path);
  TemporaryFile file(temporary);
  {
    Descriptor out(temporary, O_WRONLY | O_CREAT | O_TRUNC);
    out.write(contents);
    out.flush();
  }
  file.become(path);
  // The rename itself is on the disk once the folder is.
  const auto folder = std::filesystem::absolute(path).parent_path().string();
  Descriptor(folder, O_RDONLY | O_DIRECTORY).flush();
}

}  // namespace trainbench
