#include "common/config/visible.h"

#include <array>
#include <cstdio>

namespace trainbench {

std::string visible(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::string_view rest = text.substr(i);
    if (byte < 0x20 || byte == 0x7f) {
      std::array<char, 8> spelled{};
      std::snprintf(spelled.data(), spelled.size(), "\\u%04x", static_cast<unsigned>(byte));
      result += spelled.data();
    } else if (rest.starts_with("\xef\xbf\xbe") || rest.starts_with("\xef\xbf\xbf")) {
      result += rest[2] == '\xbe' ? "\\ufffe" : "\\uffff";
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

}  // namespace trainbench
