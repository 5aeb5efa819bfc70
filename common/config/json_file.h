#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

namespace trainbench {

/// JSON whose objects keep the order of their keys.
using Json = nlohmann::ordered_json;

/// What a JSON text may have at most, so that a hostile or mistaken file cannot exhaust the
/// program.
struct JsonLimits {
  std::size_t bytes = std::size_t{1} << 20;
  int depth = 32;
};

/// Limits of a result file, which holds every repetition.
inline constexpr JsonLimits kResultLimits{std::size_t{256} << 20, 32};

/// Parses strict JSON; a key that stands twice in an object is refused. `origin` names the text in
/// errors. Throws InputError with line and column, or with the path of the key.
Json parse_json(const std::string& text, const std::string& origin, const JsonLimits& limits = {});

/// Takes the elements of one list of the document's top object as they are read, so that a long
/// list need not be held as a whole.
struct ElementSink {
  std::string list;  ///< the list's key
  /// Given what was read of the document before the list, and the element. What it does not take
  /// (false) stays in the document.
  std::function<bool(const Json& before, std::size_t index, const Json& element)> take;
};
Json parse_json(const std::string& text, const std::string& origin, const JsonLimits& limits,
                const ElementSink& sink);

/// A file's bytes; throws InputError that names it, also where it has more than `limit`.
std::string read_text_file(const std::filesystem::path& path, std::size_t limit);

/// Reads and parses a file; throws InputError that names it.
Json read_json_file(const std::filesystem::path& path, const JsonLimits& limits = {});

}  // namespace trainbench
