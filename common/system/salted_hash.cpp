#include "common/system/salted_hash.h"

#include <crypt.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace trainbench {

std::string salted_hash(const std::string& identity) {
  const auto scratch = std::make_unique<crypt_data>();
  const std::string setting = "$5$trainbench$";  // SHA-256 of crypt(5)
  const char* hash = crypt_r(identity.c_str(), setting.c_str(), scratch.get());
  if (hash == nullptr || hash[0] == '*') throw std::runtime_error("crypt_r has no SHA-256");
  std::string text = std::string(hash).substr(setting.size(), 16);
  std::replace(text.begin(), text.end(), '/', '-');
  std::replace(text.begin(), text.end(), '.', '_');
  return text;
}

}  // namespace trainbench
