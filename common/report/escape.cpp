#include "common/report/escape.h"

#include <algorithm>

#include "common/config/json_file.h"
#include "common/config/visible.h"

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

// XML 1.0 has no control characters and no bytes that are not UTF-8; what comes from outside may.
std::string for_markup(std::string text) {
  for (char& c : text) {
    if (c == '\t' || c == '\n' || c == '\r') c = ' ';
  }
  const std::string quoted = Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
  return escaped(visible(Json::parse(quoted).get<std::string>()),
                 {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}});
}

std::string for_markdown(std::string_view text) {
  return escaped(text, {{'\\', "\\\\"}, {'|', "\\|"}, {'&', "&amp;"}, {'<', "&lt;"}, {'\n', " "}});
}

}  // namespace trainbench
