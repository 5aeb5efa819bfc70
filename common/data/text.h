#pragma once

#include <span>
#include <string_view>

#include "common/data/data_kind.h"

namespace trainbench {

/// Text is bytes below this.
inline constexpr std::int64_t kAsciiCharacters = 128;

/// The source that stands for the King James Bible of Debian's package bible-kjv.
inline constexpr std::string_view kBible = "bible-kjv";
bool has_bible();

/// Throws InputError that starts with `name` and tells the offset of the first byte that is not
/// ASCII.
void require_ascii(std::span<const std::uint8_t> text, const std::string& name);

/// Little-endian numbers of `bytes_each` (2 or 4) as those of 32 bits in this machine's order.
/// Throws InputError that starts with `name` where one is cut off, or is not in [0, vocabulary).
std::vector<std::uint8_t> parse_tokens(std::span<const std::uint8_t> file, const std::string& name,
                                       std::size_t bytes_each, std::int64_t vocabulary);

/// A file of ASCII text, a folder with one *.txt, or kBible.
Dataset read_text(const DataKind& kind, const std::string& source, const SequenceShape& shape);

/// A file of tokens.
Dataset read_tokens(const DataKind& kind, const std::string& source, const SequenceShape& shape);

}  // namespace trainbench
