#include "common/config/json_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "common/core/error.h"

namespace trainbench {
namespace {

std::string message_of(const std::string& text, const JsonLimits& limits = {}) {
  try {
    parse_json(text, "text", limits);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(ParseJson, KeepsValuesAndTheOrderOfKeys) {
  const Json json = parse_json(R"({"z": [1, 2.5, "three", null], "a": {"b": true}})", "text");
  EXPECT_EQ(json.dump(), R"({"z":[1,2.5,"three",null],"a":{"b":true}})");
}

TEST(ParseJson, SameKeyInDifferentObjectsIsFine) {
  EXPECT_NO_THROW(parse_json(R"({"a": {"b": 1}, "b": [{"b": 1}, {"b": 2}]})", "text"));
}

TEST(ParseJson, NamesTheKeyThatStandsTwice) {
  EXPECT_EQ(message_of(R"({"a": [0, {"b": 1}, [], {"c": 1, "c": 2}]})"),
            "text: /a/3/c: this key stands twice in its object");
}

TEST(ParseJson, NamesLineAndColumn) {
  EXPECT_EQ(message_of("{\n  \"a\": 1,\n  oops\n}").find("text:3:3: broken JSON: "), 0u);
  EXPECT_EQ(message_of("[1,\n2").find("text:2:2: broken JSON: "), 0u);
  EXPECT_EQ(message_of("").find("text:1:1: broken JSON: "), 0u);
  EXPECT_EQ(message_of("x").find("text:1:1: broken JSON: "), 0u);
}

TEST(ParseJson, RefusesWhatIsNotStrictJson) {
  for (const char* text : {"NaN", "[Infinity]", "{\"a\": 01}", "[1,]", "{'a': 1}", "\"\x01\"",
                           "\"\xff\"", "1 2", "// c\n1", "1e999", "[-1e999]"}) {
    const std::string message = message_of(text);
    EXPECT_NE(message.find("broken JSON"), std::string::npos) << text << " -> " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(ParseJson, HoldsItsLimits) {
  EXPECT_NO_THROW(parse_json("[[[1]]]", "text", {.bytes = 7, .depth = 3}));
  EXPECT_EQ(message_of("[[[1]]]", {.bytes = 6, .depth = 3}), "text: larger than 6 bytes");
  EXPECT_EQ(message_of("[0,[[1]]]", {.bytes = 9, .depth = 2}),
            "text: /1/0: nested deeper than 2 levels");
  // Deep enough to end a parser that recurses.
  EXPECT_NE(message_of(std::string(1000000, '[')).find("nested deeper than 32"), std::string::npos);
}

/// "[1,1,...,1]".
std::string list_of_ones(std::size_t count) {
  std::string list = "[1";
  for (std::size_t i = 1; i < count; ++i) list += ",1";
  return list + "]";
}

TEST(ParseJson, HoldsSoManyValuesAtOnce) {
  const JsonLimits limits{.bytes = 10'000'000};
  EXPECT_NO_THROW(parse_json(list_of_ones(1'000'000), "text", limits));
  EXPECT_EQ(message_of("{\"a\": " + list_of_ones(1'100'000) + "}", limits),
            "text: /a/1048576: more than 1048576 values up to here");
}

TEST(ParseJson, ValuesThatASinkTookAreNotHeld) {
  std::size_t taken = 0;
  const ElementSink sink{"rows",
                         [&](const Json&, std::size_t, const Json&) { return ++taken > 0; }};
  const std::string row = list_of_ones(600'000);
  const std::string text = "{\"rows\": [" + row + "," + row + "," + row + "], \"b\": " + row + "}";
  EXPECT_NO_THROW(parse_json(text, "text", {.bytes = 10'000'000}, sink));
  EXPECT_EQ(taken, 3u);
}

TEST(ReadJsonFile, NamesWhatCannotBeRead) {
  EXPECT_THROW(
      try { read_json_file("/nowhere/suite.json"); } catch (const InputError& error) {
        EXPECT_STREQ(error.what(),
                     "/nowhere/suite.json: cannot be read: No such file or directory");
        throw;
      },
      InputError);
  EXPECT_THROW(read_json_file(std::filesystem::temp_directory_path()), InputError);
}

TEST(ReadJsonFile, AnEndlessFileEnds) {
  EXPECT_THROW(read_json_file("/dev/zero", {.bytes = 1000, .depth = 3}), InputError);
}

}  // namespace
}  // namespace trainbench
