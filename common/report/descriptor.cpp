#include "common/report/descriptor.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/core/error.h"

namespace trainbench {

void throw_system_error(const std::string& path, const std::string& what) {
  throw InputError(path + ": cannot " + what + ": " + std::strerror(errno));
}

Descriptor::Descriptor(const std::string& path, int flags)
    : path_(path), descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) throw_system_error(path, "be written");
}

Descriptor::~Descriptor() { ::close(descriptor_); }

void Descriptor::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw_system_error(path_, "be written");
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void Descriptor::flush() {
  // A pipe or device has nothing to flush (EINVAL).
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) {
    throw_system_error(path_, "be flushed to the disk");
  }
}

}  // namespace trainbench
