#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainbench {

/// Fewest insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`
/// (optimal string alignment distance).
std::size_t edit_distance(std::string_view a, std::string_view b);

/// "a, b, c".
std::string joined(const std::vector<std::string_view>& words);

/// What would have been right instead of `word`: `did you mean "batch"?` where one of `known` is
/// near, else `one of a, b, c`.
std::string right_spelling(std::string_view word, const std::vector<std::string_view>& known);

/// `text` as one line of at most `longest` characters: what a message may repeat of bad input.
std::string printable(std::string_view text, std::size_t longest = 80);

/// The same in double quotes.
std::string in_quotes(std::string_view text);

}  // namespace trainbench
