#include "common/config/json_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <vector>

#include "common/config/spelling.h"
#include "common/core/error.h"

namespace trainbench {
namespace {

/// Follows the parser through the text: refuses what nlohmann accepts and we do not.
class StrictParse {
 public:
  StrictParse(const std::string& origin, int depth_limit)
      : origin_(origin), depth_limit_(depth_limit) {}

  void see(Json::parse_event_t event, const Json& parsed) {
    switch (event) {
      case Json::parse_event_t::object_start:
      case Json::parse_event_t::array_start:
        open(event == Json::parse_event_t::array_start);
        break;
      case Json::parse_event_t::key:
        enter_key(parsed.get_ref<const std::string&>());
        break;
      case Json::parse_event_t::object_end:
      case Json::parse_event_t::array_end:
        levels_.pop_back();
        count_value();
        break;
      case Json::parse_event_t::value:
        count_value();
        break;
    }
  }

 private:
  struct Level {
    bool array = false;
    std::size_t index = 0;       // of the element being read
    std::string key;             // of the member being read
    std::set<std::string> keys;  // of the members seen
  };

  void open(bool array) {
    if (static_cast<int>(levels_.size()) >= depth_limit_) {
      throw InputError(origin_ + ": " + path() + ": nested deeper than " +
                       std::to_string(depth_limit_) + " levels");
    }
    levels_.push_back({.array = array});
  }

  void enter_key(const std::string& key) {
    Level& level = levels_.back();
    level.key = key;
    if (level.keys.insert(key).second) return;
    throw InputError(origin_ + ": " + path() + ": this key stands twice in its object");
  }

  void count_value() {
    if (!levels_.empty()) ++levels_.back().index;
  }

  std::string path() const {
    std::string result;
    for (const Level& level : levels_) {
      result += '/';
      result += level.array ? std::to_string(level.index) : printable(level.key);
    }
    return result;
  }

  const std::string& origin_;
  int depth_limit_;
  std::vector<Level> levels_;
};

/// "FILE:LINE:COLUMN: broken JSON: what" from the parser's own, longer message.
[[noreturn]] void throw_broken(const std::string& text, const std::string& origin, std::size_t byte,
                               std::string message) {
  // `byte` counts from 1; the parser stops one past the end where the text is too short.
  const std::size_t end = std::min(byte == 0 ? 0 : byte - 1, text.size());
  const auto stop = text.begin() + static_cast<std::ptrdiff_t>(end);
  const auto line = 1 + std::count(text.begin(), stop, '\n');
  const std::size_t newline = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
  const std::size_t column = newline == std::string::npos ? end + 1 : end - newline;

  // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while ..."
  const std::size_t detail = message.find(": ");
  if (detail != std::string::npos) message.erase(0, detail + 2);
  constexpr std::size_t kLongest = 240;
  throw InputError(origin + ":" + std::to_string(line) + ":" + std::to_string(column) +
                   ": broken JSON: " + printable(message, kLongest));
}

}  // namespace

Json parse_json(const std::string& text, const std::string& origin, const JsonLimits& limits) {
  if (text.size() > limits.bytes) {
    throw InputError(origin + ": larger than " + std::to_string(limits.bytes) + " bytes");
  }
  StrictParse strict(origin, limits.depth);
  try {
    return Json::parse(text, [&](int, Json::parse_event_t event, Json& parsed) {
      strict.see(event, parsed);
      return true;
    });
  } catch (const Json::parse_error& error) {
    throw_broken(text, origin, error.byte, error.what());
  } catch (const Json::exception& error) {
    // A number beyond the range of double.
    throw InputError(origin + ": broken JSON: " + error.what());
  }
}

Json read_json_file(const std::filesystem::path& path, const JsonLimits& limits) {
  const std::string origin = path.string();
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw InputError(origin + ": is a folder; a JSON file is needed");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(origin + ": cannot be read: " + std::strerror(errno));
  // Stops soon after the limit, so that an endless file ends too.
  std::string text;
  std::string chunk(std::size_t{1} << 16, '\0');
  while (file && text.size() <= limits.bytes) {
    file.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    text.append(chunk, 0, static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) throw InputError(origin + ": cannot be read: " + std::strerror(errno));
  return parse_json(text, origin, limits);
}

}  // namespace trainbench
