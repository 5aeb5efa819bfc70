#include "common/config/typed_reader.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "common/config/spelling.h"
#include "common/core/error.h"

namespace trainbench {
namespace {

/// Shortest text that reads back as the number.
std::string number_text(double value) {
  char buffer[32];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return {buffer, end};
}

/// Characters of valid UTF-8, as JSON Schema counts them.
std::size_t count_characters(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string range_text(const std::string& least, const std::string& most) {
  return "from " + least + " to " + most;
}

}  // namespace

void JsonNode::fail(const std::string& what) const {
  throw InputError(file_ + ": " + (path_.empty() ? "" : path_ + ": ") + what);
}

void JsonNode::fail_type(const std::string& wanted) const {
  const bool scalar = value_->is_primitive() && !value_->is_null();
  const std::string found =
      scalar ? printable(value_->dump(-1, ' ', true), 60) : value_->type_name();
  fail("must be " + wanted + ", not " + found);
}

JsonNode JsonNode::child(const Json& value, const std::string& step) const {
  return {value, file_, path_ + "/" + printable(step)};
}

std::string JsonNode::text(std::size_t shortest, std::size_t longest) const {
  if (!value_->is_string()) fail_type("a text");
  const std::string& text = value_->get_ref<const std::string&>();
  const std::size_t length = count_characters(text);
  if (length < shortest || length > longest) {
    fail("must be a text of " + std::to_string(shortest) + " to " + std::to_string(longest) +
         " characters, not of " + std::to_string(length));
  }
  return text;
}

std::int64_t JsonNode::integer(std::int64_t least, std::int64_t most) const {
  const std::string wanted =
      "a whole number " + range_text(std::to_string(least), std::to_string(most));
  if (!value_->is_number()) fail_type(wanted);
  // What is no 64-bit integer, such as 3.0, is taken as a double: exact below 2^53.
  const bool whole = value_->is_number_unsigned() ? value_->get<std::uint64_t>() <= INT64_MAX
                                                  : value_->is_number_integer();
  const double rounded = value_->get<double>();
  if (!whole && !(std::abs(rounded) < 0x1p53 && rounded == std::floor(rounded))) fail_type(wanted);
  const std::int64_t value = whole ? value_->get<std::int64_t>() : std::llround(rounded);
  if (value < least || value > most) fail_type(wanted);
  return value;
}

double JsonNode::number(double least, double most) const {
  const std::string wanted = "a number " + range_text(number_text(least), number_text(most));
  if (!value_->is_number()) fail_type(wanted);
  const double value = value_->get<double>();
  if (!(value >= least && value <= most)) fail_type(wanted);
  return value;
}

bool JsonNode::boolean() const {
  if (!value_->is_boolean()) fail_type("true or false");
  return value_->get<bool>();
}

std::string JsonNode::choice(const std::vector<std::string_view>& choices) const {
  if (!value_->is_string()) fail_type("a text: " + right_spelling("", choices));
  const std::string& text = value_->get_ref<const std::string&>();
  if (std::find(choices.begin(), choices.end(), text) == choices.end()) {
    fail("unknown value " + in_quotes(text) + "; " + right_spelling(text, choices));
  }
  return text;
}

std::vector<JsonNode> JsonNode::elements(std::size_t shortest, std::size_t longest) const {
  if (!value_->is_array()) fail_type("a list");
  if (value_->size() < shortest || value_->size() > longest) {
    fail("must be a list of " + std::to_string(shortest) + " to " + std::to_string(longest) +
         " elements, not of " + std::to_string(value_->size()));
  }
  std::vector<JsonNode> nodes;
  for (std::size_t i = 0; i < value_->size(); ++i) {
    nodes.push_back(child((*value_)[i], std::to_string(i)));
  }
  return nodes;
}

std::vector<JsonNode> JsonNode::one_or_more() const {
  if (!value_->is_array()) return {*this};
  const std::vector<JsonNode> nodes = elements(1, 100);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const auto earlier = nodes.begin() + static_cast<std::ptrdiff_t>(i);
    const bool twice = std::any_of(nodes.begin(), earlier, [&](const JsonNode& node) {
      return node.value() == nodes[i].value();
    });
    if (twice) nodes[i].fail("stands in its list already");
  }
  return nodes;
}

std::vector<std::pair<std::string, JsonNode>> JsonNode::members() const {
  if (!value_->is_object()) fail_type("an object");
  std::vector<std::pair<std::string, JsonNode>> members;
  for (const auto& [key, member] : value_->items()) members.emplace_back(key, child(member, key));
  return members;
}

ObjectReader::ObjectReader(const JsonNode& node, std::vector<std::string_view> known)
    : node_(node), known_(std::move(known)) {
  for (const auto& [key, member] : node_.members()) {
    if (node_.path_.empty() && key == "$schema") continue;
    if (std::find(known_.begin(), known_.end(), key) != known_.end()) continue;
    member.fail("unknown key; " + right_spelling(key, known_));
  }
}

ObjectReader::ObjectReader(const JsonNode& node) : node_(node) {
  if (!node_.value().is_object()) node_.fail_type("an object");
}

JsonNode ObjectReader::required(const std::string& key) const {
  if (const std::optional<JsonNode> member = optional(key)) return *member;
  node_.fail("the key " + in_quotes(key) + " is missing");
}

std::optional<JsonNode> ObjectReader::optional(const std::string& key) const {
  require(known_.empty() || std::find(known_.begin(), known_.end(), key) != known_.end(),
          "only known keys are read");
  const auto found = node_.value_->find(key);
  if (found == node_.value_->end()) return std::nullopt;
  return node_.child(*found, key);
}

}  // namespace trainbench
