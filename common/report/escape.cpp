#include "common/report/escape.h"

#include <algorithm>

namespace trainbench {

std::string escaped(std::string_view text,
                    const std::vector<std::pair<char, const char*>>& replacements) {
  std::string result;
  for (const char c : text) {
    const auto found = std::find_if(replacements.begin(), replacements.end(),
                                    [c](const auto& each) { return each.first == c; });
    if (found == replacements.end()) {
      result += c;
    } else {
      result += found->second;
    }
  }
  return result;
}

// XML 1.0 has no control characters; a name from outside may.
std::string for_markup(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  }
  return escaped(text, {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}});
}

std::string for_markdown(std::string_view text) {
  return escaped(text, {{'|', "\\|"}, {'<', "&lt;"}, {'\n', " "}});
}

}  // namespace trainbench
