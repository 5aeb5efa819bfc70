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

/// Members up to which an object's keys are compared one by one.
constexpr std::size_t kFewMembers = 40;
/// Numbers, texts, lists and objects that are held at once; a sink's elements are held one by one.
constexpr std::size_t kMostHeld = std::size_t{1} << 20;

/// Builds the document as the parser goes through the text, and refuses what nlohmann accepts and
/// we do not. (Its own parser with a callback looks through a list again at each element's end.)
class DocumentBuilder : public nlohmann::json_sax<Json> {
 public:
  DocumentBuilder(const std::string& text, const std::string& origin, const JsonLimits& limits,
                  const ElementSink* sink)
      : text_(text), origin_(origin), limits_(limits), sink_(sink) {}

  Json take_document() { return std::move(document_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }  // of other formats than JSON's
  bool start_object(std::size_t) override { return open(Json::value_t::object); }
  bool start_array(std::size_t) override { return open(Json::value_t::array); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& key) override {
    Level& level = levels_.back();
    level.key = std::move(key);
    if (is_known(level)) {
      throw InputError(origin_ + ": " + path() + ": this key stands twice in its object");
    }
    return true;
  }

  bool parse_error(std::size_t, const std::string&,
                   const nlohmann::detail::exception& error) override;

 private:
  struct Level {
    Json value;                       // the list or object so far
    std::size_t held_before = 0;      // values that were held when it began
    std::size_t index = 0;            // of the element being read
    std::string key = {};             // of the member being read
    std::set<std::string> keys = {};  // of the members seen, where they are many
  };

  static bool is_known(Level& level) {
    const auto& members = level.value.get_ref<const Json::object_t&>();
    if (members.size() < kFewMembers) {
      return std::any_of(members.begin(), members.end(),
                         [&](const auto& member) { return member.first == level.key; });
    }
    if (level.keys.empty()) {
      for (const auto& member : members) level.keys.insert(member.first);
    }
    return !level.keys.insert(level.key).second;
  }

  bool open(Json::value_t type) {
    if (static_cast<int>(levels_.size()) >= limits_.depth) {
      throw InputError(origin_ + ": " + path() + ": nested deeper than " +
                       std::to_string(limits_.depth) + " levels");
    }
    levels_.push_back({.value = Json(type), .held_before = held_});
    return true;
  }

  bool close() {
    Json value = std::move(levels_.back().value);
    const std::size_t held_before = levels_.back().held_before;
    levels_.pop_back();
    return add(std::move(value), held_before);
  }

  bool add(Json value) { return add(std::move(value), held_); }

  /// `held_before`: the values that were held before this one and what is in it.
  bool add(Json value, std::size_t held_before) {
    if (++held_ > kMostHeld) {
      throw InputError(origin_ + ": " + path() + ": more than " + std::to_string(kMostHeld) +
                       " values up to here");
    }
    if (levels_.empty()) {
      document_ = std::move(value);
      return true;
    }
    Level& level = levels_.back();
    if (level.value.is_object()) {
      level.value.get_ref<Json::object_t&>().emplace_back(std::move(level.key), std::move(value));
      return true;
    }
    const std::size_t index = level.index++;
    const bool offered = sink_ != nullptr && levels_.size() == 2 &&
                         levels_.front().value.is_object() && levels_.front().key == sink_->list;
    if (offered && sink_->take(levels_.front().value, index, value)) {
      held_ = held_before;
    } else {
      level.value.get_ref<Json::array_t&>().push_back(std::move(value));
    }
    return true;
  }

  std::string path() const {
    std::string result;
    for (const Level& level : levels_) {
      result += '/';
      result += level.value.is_array() ? std::to_string(level.index) : printable(level.key);
    }
    return result;
  }

  const std::string& text_;
  const std::string& origin_;
  const JsonLimits& limits_;
  const ElementSink* sink_;
  std::size_t held_ = 0;
  std::vector<Level> levels_;
  Json document_;
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

bool DocumentBuilder::parse_error(std::size_t, const std::string&,
                                  const nlohmann::detail::exception& error) {
  const auto* broken = dynamic_cast<const Json::parse_error*>(&error);
  if (broken != nullptr) throw_broken(text_, origin_, broken->byte, error.what());
  // A number beyond the range of double.
  throw InputError(origin_ + ": broken JSON: " + error.what());
}

Json parse(const std::string& text, const std::string& origin, const JsonLimits& limits,
           const ElementSink* sink) {
  if (text.size() > limits.bytes) {
    throw InputError(origin + ": larger than " + std::to_string(limits.bytes) + " bytes");
  }
  DocumentBuilder builder(text, origin, limits, sink);
  Json::sax_parse(text, &builder);
  return builder.take_document();
}

}  // namespace

Json parse_json(const std::string& text, const std::string& origin, const JsonLimits& limits) {
  return parse(text, origin, limits, nullptr);
}

Json parse_json(const std::string& text, const std::string& origin, const JsonLimits& limits,
                const ElementSink& sink) {
  return parse(text, origin, limits, &sink);
}

std::string read_text_file(const std::filesystem::path& path, std::size_t limit) {
  const std::string origin = path.string();
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw InputError(origin + ": is a folder; a file is needed");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) throw InputError(origin + ": cannot be read: " + std::strerror(errno));
  // Stops soon after the limit, so that an endless file ends too.
  std::string text;
  std::string chunk(std::size_t{1} << 16, '\0');
  while (file && text.size() <= limit) {
    file.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    text.append(chunk, 0, static_cast<std::size_t>(file.gcount()));
  }
  if (file.bad()) throw InputError(origin + ": cannot be read: " + std::strerror(errno));
  if (text.size() > limit) {
    throw InputError(origin + ": larger than " + std::to_string(limit) + " bytes");
  }
  return text;
}

Json read_json_file(const std::filesystem::path& path, const JsonLimits& limits) {
  return parse_json(read_text_file(path, limits.bytes), path.string(), limits);
}

}  // namespace trainbench
