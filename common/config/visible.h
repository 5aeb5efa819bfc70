#pragma once

#include <string>
#include <string_view>

namespace trainbench {

/// `text` as one line, whole: its control characters, and what no character of Unicode is, spelled
/// as JSON spells them, \u000a.
std::string visible(std::string_view text);

}  // namespace trainbench
