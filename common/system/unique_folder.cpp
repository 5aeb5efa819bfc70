#include "common/system/unique_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "common/core/error.h"

namespace trainbench {

std::string make_unique_folder(const std::string& prefix) {
  constexpr const char* kReplacedByMkdtemp = "XXXXXX";
  std::string name = prefix + kReplacedByMkdtemp;
  if (::mkdtemp(name.data()) == nullptr) {
    throw InputError(prefix + "...: cannot make a folder: " + std::strerror(errno));
  }
  return name;
}

}  // namespace trainbench
