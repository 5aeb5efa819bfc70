#include "common/config/name_filter.h"

#include <regex.h>

#include <array>
#include <cctype>
#include <string_view>

#include "common/config/spelling.h"
#include "common/core/error.h"

namespace trainbench {
namespace {

/// The library recurses on what it parses: a long row of brackets would overflow the stack.
constexpr std::size_t kLongestFilter = 1000;
/// Escapes of a letter that the C library knows: word characters, blanks, borders of words.
constexpr std::string_view kEscapes = "wWsSbB";

[[noreturn]] void refuse(const std::string& expression, const std::string& why) {
  throw InputError("--filter " + in_quotes(expression) + ": " + why);
}

void require_plain(const std::string& expression) {
  if (expression.size() > kLongestFilter) {
    refuse(expression, "longer than " + std::to_string(kLongestFilter) + " bytes");
  }
  for (std::size_t i = 0; i < expression.size(); ++i) {
    if (expression[i] == '{')
      refuse(expression, "counts in braces are not taken; write aa for a{2}");
    if (expression[i] != '\\' || ++i == expression.size()) continue;
    const char escaped = expression[i];
    const bool unknown = std::isalnum(static_cast<unsigned char>(escaped)) != 0 &&
                         kEscapes.find(escaped) == std::string_view::npos;
    if (!unknown) continue;
    refuse(expression,
           std::string("unknown escape \\") + escaped +
               (escaped == 'd' ? "; write [0-9]" : "; of letters \\w \\s \\b are known"));
  }
}

}  // namespace

struct NameFilter::Compiled {
  explicit Compiled(const std::string& expression) {
    const int error = ::regcomp(&automaton, expression.c_str(), REG_EXTENDED | REG_NOSUB);
    if (error == 0) return;
    std::array<char, 200> text{};
    ::regerror(error, &automaton, text.data(), text.size());
    refuse(expression, std::string("not a regular expression (POSIX extended): ") + text.data());
  }
  ~Compiled() { ::regfree(&automaton); }
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;

  regex_t automaton{};
};

NameFilter::NameFilter(const std::string& expression) {
  if (expression.empty()) return;
  require_plain(expression);
  compiled_ = std::make_shared<const Compiled>(expression);
}

bool NameFilter::finds(const std::string& name) const {
  return compiled_ == nullptr || ::regexec(&compiled_->automaton, name.c_str(), 0, nullptr, 0) == 0;
}

}  // namespace trainbench
