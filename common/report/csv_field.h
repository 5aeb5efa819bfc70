#pragma once

#include <string>

namespace trainbench {

/// A field of CSV as RFC 4180 has it: in quotes where it needs them.
inline std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + "\"";
}

}  // namespace trainbench
