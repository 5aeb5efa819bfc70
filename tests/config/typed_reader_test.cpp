#include "common/config/typed_reader.h"

#include <gtest/gtest.h>

#include <functional>

#include "common/core/error.h"

namespace trainbench {
namespace {

/// The message of reading `text` with `read`, or "" where it succeeds.
std::string message_of(const std::string& text, const std::function<void(const JsonNode&)>& read) {
  const Json document = parse_json(text, "f.json");
  try {
    read(JsonNode(document, "f.json"));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(JsonNode, ReadsEachType) {
  const Json document =
      parse_json(R"({"t": "x", "i": 3, "n": 0.5, "b": true, "l": [1, 2]})", "f.json");
  const ObjectReader object(JsonNode(document, "f.json"), {"t", "i", "n", "b", "l", "absent"});
  EXPECT_EQ(object.required("t").text(), "x");
  EXPECT_EQ(object.required("i").integer(0, 3), 3);
  EXPECT_EQ(object.required("n").number(0, 1), 0.5);
  EXPECT_TRUE(object.required("b").boolean());
  EXPECT_EQ(object.required("l").elements(2, 2)[1].integer(0, 9), 2);
  EXPECT_EQ(object.required("i").one_or_more().size(), 1u);
  EXPECT_FALSE(object.optional("absent").has_value());
  EXPECT_EQ(object.node().members().size(), 5u);
}

TEST(JsonNode, IntegersAreExactAndBounded) {
  const auto any = [](const JsonNode& node) {
    EXPECT_EQ(node.integer(INT64_MIN, INT64_MAX), node.value().get<std::int64_t>());
  };
  EXPECT_EQ(message_of("9007199254740993", any), "");
  EXPECT_EQ(message_of("-9223372036854775808", any), "");
  EXPECT_EQ(message_of("9223372036854775807", any), "");
  const auto small = [](const JsonNode& node) { node.integer(1, 5); };
  EXPECT_EQ(message_of("0", small), "f.json: must be a whole number from 1 to 5, not 0");
  EXPECT_EQ(message_of("6", small), "f.json: must be a whole number from 1 to 5, not 6");
  EXPECT_EQ(message_of("18446744073709551615", small),
            "f.json: must be a whole number from 1 to 5, not 18446744073709551615");
  EXPECT_EQ(message_of("1e300", small), "f.json: must be a whole number from 1 to 5, not 1e+300");
}

TEST(JsonNode, NamesThePath) {
  EXPECT_EQ(message_of(R"({"a": [{}, {"b": "x"}]})",
                       [](const JsonNode& node) {
                         const ObjectReader object(node, {"a"});
                         const JsonNode second = object.required("a").elements(0, 9)[1];
                         ObjectReader(second, {"b"}).required("b").boolean();
                       }),
            "f.json: /a/1/b: must be true or false, not \"x\"");
}

TEST(ObjectReader, NamesUnknownAndMissingKeys) {
  const auto read = [](const JsonNode& node) {
    ObjectReader(node, {"clock", "cores"}).required("cores");
  };
  EXPECT_EQ(message_of(R"({"clok": 1, "cores": 2})", read),
            "f.json: /clok: unknown key; did you mean \"clock\"?");
  EXPECT_EQ(message_of(R"({"clock": 1})", read), "f.json: the key \"cores\" is missing");
  EXPECT_EQ(message_of(R"({"$schema": "x", "cores": 2})", read), "");
  EXPECT_EQ(message_of("3", read), "f.json: must be an object, not 3");
}

TEST(ObjectReader, BadInputIsQuotedOnOneBoundedLine) {
  const std::string message =
      message_of("{\"" + std::string(100000, 'k') + "\\n\": 1}",
                 [](const JsonNode& node) { ObjectReader(node, {"clock"}); });
  EXPECT_LT(message.size(), 200u);
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace trainbench
