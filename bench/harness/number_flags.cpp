#include "bench/harness/number_flags.h"

#include <charconv>
#include <string>

#include "common/config/spelling.h"

namespace trainbench {
namespace {

/// Whether `text` is a number from its first character to its last.
template <class Number>
bool is_number(const std::string& text, Number& value) {
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stopped == end;
}

template <class Number>
std::string shortest_text(Number value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

/// Takes what is a number from its first character to its last and lies within the bounds.
template <class Number>
CLI::Validator within(const char* what, Number least, Number most) {
  const std::string bounds = shortest_text(least) + " to " + shortest_text(most);
  const auto check = [=](const std::string& text) -> std::string {
    Number value{};
    if (is_number(text, value) && value >= least && value <= most) return "";
    return in_quotes(text) + " is not a " + what + " from " + bounds;
  };
  return CLI::Validator(check, bounds);
}

}  // namespace

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  return within("whole number", least, most);
}

CLI::Validator real_number(double least, double most) { return within("number", least, most); }

CLI::Validator fraction(double least, double most) {
  const std::string bounds = shortest_text(least) + " to " + shortest_text(most);
  const auto read = [=](std::string& text) -> std::string {
    const bool percent = !text.empty() && text.back() == '%';
    double value = 0;
    const bool number = is_number(percent ? text.substr(0, text.size() - 1) : text, value);
    if (percent) value /= 100;
    if (!number || !(value >= least && value <= most)) {
      return in_quotes(text) + " is not a number from " + bounds + ", or its percentage such as 1%";
    }
    text = shortest_text(value);
    return "";
  };
  return CLI::Validator(read, bounds);
}

}  // namespace trainbench
