#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainbench {

/// `text` with each of the characters replaced.
std::string escaped(std::string_view text,
                    const std::vector<std::pair<char, const char*>>& replacements);

/// For elements and quoted attributes of HTML and XML: ends of lines become spaces, other control
/// characters are spelled out, bytes that are not UTF-8 replaced.
std::string for_markup(std::string text);

/// For a cell of a Markdown table.
std::string for_markdown(std::string_view text);

}  // namespace trainbench
