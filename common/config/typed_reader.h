#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/config/json_file.h"

namespace trainbench {

/// A value inside a JSON document that knows where it stands. Each reading function throws
/// InputError, naming file and path, unless the value is of the type and in the range asked for.
class JsonNode {
 public:
  /// The whole document of a file. The document must outlive its nodes.
  JsonNode(const Json& document, std::string file) : JsonNode(document, std::move(file), "") {}
  /// What stands at `path` in it.
  JsonNode(const Json& value, std::string file, std::string path)
      : value_(&value), file_(std::move(file)), path_(std::move(path)) {}

  std::string text(std::size_t shortest = 0, std::size_t longest = 4096) const;
  /// 3 and 3.0 are the integer three, as in JSON Schema.
  std::int64_t integer(std::int64_t least, std::int64_t most) const;
  double number(double least, double most) const;
  bool boolean() const;
  /// A text that is one of `choices`.
  std::string choice(const std::vector<std::string_view>& choices) const;

  /// The elements of a list of that many.
  std::vector<JsonNode> elements(std::size_t shortest, std::size_t longest) const;
  /// A single value, or each of a list of 1 to 100 that names nothing twice.
  std::vector<JsonNode> one_or_more() const;
  /// The members of an object whose keys are free, in their order.
  std::vector<std::pair<std::string, JsonNode>> members() const;

  const Json& value() const { return *value_; }
  /// Throws InputError: "FILE: PATH: what".
  [[noreturn]] void fail(const std::string& what) const;

 private:
  friend class ObjectReader;
  JsonNode child(const Json& value, const std::string& step) const;
  /// Throws InputError: "... must be `wanted`, not <what it is>".
  [[noreturn]] void fail_type(const std::string& wanted) const;

  const Json* value_;
  std::string file_;
  std::string path_;
};

/// An object read by key.
class ObjectReader {
 public:
  /// Throws InputError unless `node` is an object with none but `known` keys; "$schema" is allowed
  /// at the top of a file.
  ObjectReader(const JsonNode& node, std::vector<std::string_view> known);
  /// An object that may have other keys too.
  explicit ObjectReader(const JsonNode& node);

  JsonNode required(const std::string& key) const;
  std::optional<JsonNode> optional(const std::string& key) const;
  const JsonNode& node() const { return node_; }

 private:
  JsonNode node_;
  std::vector<std::string_view> known_;  // empty: any
};

}  // namespace trainbench
