#include "common/config/spelling.h"

#include <algorithm>

namespace trainbench {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Rows i - 2, i - 1 and i of the table of distances between prefixes.
  std::vector<std::size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, replace});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string list;
  for (const std::string_view word : words) {
    if (!list.empty()) list += ", ";
    list += word;
  }
  return list;
}

std::string right_spelling(std::string_view word, const std::vector<std::string_view>& known) {
  // A word as long as this is no misspelling, and the table would be large.
  constexpr std::size_t kLongestWord = 64;
  std::string_view nearest;
  std::size_t least = std::max<std::size_t>(1, word.size() / 3) + 1;
  if (word.size() <= kLongestWord) {
    for (const std::string_view candidate : known) {
      const std::size_t distance = edit_distance(word, candidate);
      if (distance >= least) continue;
      least = distance;
      nearest = candidate;
    }
  }
  if (!nearest.empty()) return "did you mean " + in_quotes(nearest) + "?";
  return (known.size() == 1 ? "the only one is " : "one of ") + joined(known);
}

std::string printable(std::string_view text, std::size_t longest) {
  std::string result;
  unsigned char before = 0;
  for (const char c : text.substr(0, longest)) {
    const auto byte = static_cast<unsigned char>(c);
    // Control characters would break the line or steer a terminal: C0, and in UTF-8 those of C1.
    const bool c1 = before == 0xC2 && byte >= 0x80 && byte < 0xA0;
    if (c1) result.pop_back();
    result += byte < 0x20 || byte == 0x7f || c1 ? '?' : c;
    before = byte;
  }
  return result + (text.size() > longest ? "..." : "");
}

std::string in_quotes(std::string_view text) { return "\"" + printable(text) + "\""; }

}  // namespace trainbench
