#pragma once

#include <string>
#include <string_view>

namespace trainbench {

/// A POSIX file descriptor that is closed with its owner. Functions throw InputError that names the
/// path: a file that cannot be written is the user's to put right.
class Descriptor {
 public:
  /// `flags` are open(2)'s; a new file gets mode 0666 less the umask.
  Descriptor(const std::string& path, int flags);
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  /// Writes all of it, without a buffer of our own.
  void write(std::string_view bytes);
  /// Waits until the disk has it.
  void flush();

 private:
  std::string path_;
  int descriptor_;
};

/// "PATH: cannot WHAT: reason", of errno.
[[noreturn]] void throw_system_error(const std::string& path, const std::string& what);

}  // namespace trainbench
