#include "common/config/suite.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "common/config/families.h"
#include "common/core/error.h"

namespace trainbench {
namespace {

const std::string kTrain = R"({"family": "train", "case": "mlp", )";

Suite read_cases(const std::string& cases, const SuiteOverrides& overrides = {}) {
  const Json document = parse_json(R"({"name": "s", "cases": [)" + cases + "]}", "s.json");
  return read_suite(document, "s.json", overrides);
}

std::vector<std::string> names_of(const Suite& suite) {
  std::vector<std::string> names;
  for (const SuiteCase& one : suite.cases) names.push_back(one.id.full_name());
  return names;
}

std::string message_of(const std::string& cases, const SuiteOverrides& overrides) {
  try {
    read_cases(cases, overrides);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

using Names = std::vector<std::string>;

TEST(Suite, AbsentAxesTakeTheirDefaults) {
  const Suite suite = read_cases(kTrain + R"("device": "cpu"})");
  EXPECT_EQ(names_of(suite), Names{"train/mlp/cpu/fp32/batch:256"});
  EXPECT_EQ(suite.repetitions, 10);
  EXPECT_EQ(suite.min_time, 0.1);
  EXPECT_EQ(names_of(read_cases(R"({"family": "loader", "case": "images28", "device": "cpu"})")),
            Names{"loader/images28/cpu/u8/batch:256"});
}

TEST(Suite, ListsMultiplyOutWithTheLastAxisFastest) {
  EXPECT_EQ(
      names_of(read_cases(kTrain + R"("device": ["cpu", "gpu"], "batch": [1, 2],
                                            "boundary": ["resident", "end-to-end"]})")),
      (Names{"train/mlp/cpu/fp32/batch:1", "train/mlp/cpu/fp32/batch:1/boundary:end-to-end",
             "train/mlp/cpu/fp32/batch:2", "train/mlp/cpu/fp32/batch:2/boundary:end-to-end",
             "train/mlp/gpu/fp32/batch:1", "train/mlp/gpu/fp32/batch:1/boundary:end-to-end",
             "train/mlp/gpu/fp32/batch:2", "train/mlp/gpu/fp32/batch:2/boundary:end-to-end"}));
}

TEST(Suite, KeysStandInOneOrderAndUsualValuesStayOut) {
  EXPECT_EQ(names_of(read_cases(kTrain + R"("fusion": ["on", "off"], "threads": 2, "device": "cpu",
                                            "sizes": {"hidden": 64}, "batch": 8})")),
            (Names{"train/mlp/cpu/fp32/batch:8/threads:2/hidden:64",
                   "train/mlp/cpu/fp32/batch:8/threads:2/fusion:off/hidden:64"}));
}

TEST(Suite, SizesReachTheCase) {
  const Suite suite =
      read_cases(kTrain + R"("device": "cpu", "sizes": {"hidden": [32, 64], "layers": 2}})");
  ASSERT_EQ(suite.cases.size(), 2u);
  EXPECT_EQ(suite.cases[1].sizes, (ModelSizes{{"hidden", 64}, {"layers", 2}}));
  EXPECT_EQ(suite.cases[1].id.integer("hidden", 0), 64);
}

TEST(Suite, ThreadsMeanNothingOnTheGpu) {
  EXPECT_EQ(names_of(read_cases(kTrain + R"("device": ["cpu", "gpu"], "threads": [1, 2]})")),
            (Names{"train/mlp/cpu/fp32/batch:256/threads:1",
                   "train/mlp/cpu/fp32/batch:256/threads:2", "train/mlp/gpu/fp32/batch:256"}));
}

TEST(Suite, ACaseNamedTwiceRunsOnce) {
  const std::string entry = kTrain + R"("device": "cpu", "batch": [8, 16]})";
  EXPECT_EQ(read_cases(entry + "," + entry).cases.size(), 2u);
}

TEST(Suite, OverridesReplaceTheAxis) {
  const std::string entries = kTrain + R"("device": "cpu", "batch": [8, 16], "threads": 4},)" +
                              R"({"family": "loader", "case": "images28", "device": "cpu"})";
  EXPECT_EQ(names_of(read_cases(entries,
                                {.precisions = {"bf16", "fp16"}, .batches = {32}, .threads = {1}})),
            (Names{"train/mlp/cpu/bf16/batch:32/threads:1", "train/mlp/cpu/fp16/batch:32/threads:1",
                   "loader/images28/cpu/u8/batch:32"}));
  EXPECT_EQ(names_of(read_cases(kTrain + R"("device": "cpu"})", {.threads = {3}})),
            Names{"train/mlp/cpu/fp32/batch:256/threads:3"});
}

TEST(Suite, DeviceAndFilterSelect) {
  const std::string entry = kTrain + R"("device": ["cpu", "gpu"], "batch": [8, 256]})";
  EXPECT_EQ(read_cases(entry, {.devices = {"all"}}).cases.size(), 4u);
  EXPECT_EQ(names_of(read_cases(entry, {.devices = {"gpu"}})),
            (Names{"train/mlp/gpu/fp32/batch:8", "train/mlp/gpu/fp32/batch:256"}));
  EXPECT_EQ(names_of(read_cases(entry, {.filter = "^train.*cpu.*:8$"})),
            Names{"train/mlp/cpu/fp32/batch:8"});
}

TEST(KeepMatching, SearchesTheWholeName) {
  EXPECT_EQ(keep_matching({"a/b", "b/c", "c"}, "b"), (Names{"a/b", "b/c"}));
  EXPECT_EQ(keep_matching({"a/b", "c"}, ""), (Names{"a/b", "c"}));
  EXPECT_THROW(keep_matching({}, "["), InputError);
}

TEST(Suite, WrongOverridesNameTheFlag) {
  const std::string entry = kTrain + R"("device": "cpu"})";
  EXPECT_EQ(message_of(entry, {.devices = {"gpuu"}}),
            "--device gpuu: unknown; did you mean \"gpu\"?");
  EXPECT_EQ(message_of(entry, {.precisions = {"bf61"}}),
            "--precision bf61: unknown; did you mean \"bf16\"?");
  EXPECT_EQ(message_of(entry, {.batches = {256, 0}}),
            "--batch 0: must be a whole number from 1 to 1048576");
  EXPECT_EQ(message_of(entry, {.threads = {-1}}),
            "--threads -1: must be a whole number from 1 to 4096");
  EXPECT_EQ(message_of(entry, {.filter = "("}).find("--filter \"(\": not a regular expression"),
            0u);
}

TEST(Suite, NothingLeftIsAnError) {
  const std::string entry = kTrain + R"("device": "cpu"})";
  EXPECT_EQ(message_of(entry, {.devices = {"gpu"}}),
            "s.json: no case is left by --device and --precision");
  EXPECT_EQ(message_of(entry, {.filter = "lstm"}),
            "s.json: no case is left by --filter \"lstm\"; the first name is "
            "train/mlp/cpu/fp32/batch:256");
}

TEST(Suite, TooManyCasesAreRefused) {
  std::string list;
  for (int i = 1; i <= 100; ++i) list += (i == 1 ? "" : ",") + std::to_string(i);
  EXPECT_EQ(message_of(kTrain + R"("device": ["cpu", "gpu"], "batch": [)" + list +
                           R"(], "sizes": {"hidden": [)" + list + "]}}",
                       {}),
            "s.json: /cases/0: makes more than 10000 cases");
}

TEST(Suite, ShippedSuitesAreReadByName) {
  for (const char* name : {"quick", "full", "ci", "why", "batch", "deepbench"}) {
    const Suite suite = load_suite(name, {});
    EXPECT_EQ(suite.name, name);
    EXPECT_FALSE(suite.description.empty());
    std::set<std::string> devices;
    for (const SuiteCase& one : suite.cases) devices.insert(one.id.device);
    EXPECT_EQ(devices, (std::set<std::string>{"cpu", "gpu"})) << name;
  }
}

TEST(Suite, AnUnknownNameSuggestsTheNearest) {
  try {
    load_suite("quik", {});
    FAIL() << "was found";
  } catch (const InputError& error) {
    EXPECT_EQ(
        std::string(error.what()).find("no suite is called \"quik\"; did you mean \"quick\"?"), 0u)
        << error.what();
  }
}

// The schema repeats the families' table: each list in it must be the table's.
TEST(Suite, SchemaListsWhatTheFamiliesHave) {
  const Json schema =
      read_json_file(std::string(TRAINBENCH_SOURCE_DIR) + "/configs/schema/suite.schema.json");
  const auto list = [](const Json& node) { return node.get<std::vector<std::string>>(); };
  const Json& entry = schema["properties"]["cases"]["items"];
  Names family_names;
  for (const Family& family : families()) {
    family_names.emplace_back(family.name);
    SCOPED_TRACE(family.name);
    const Json& properties = schema["$defs"][std::string(family.name)]["properties"];
    const auto resolve = [&](const Json& node) {
      const std::string reference = node["$ref"];
      return schema["$defs"][reference.substr(std::string("#/$defs/").size())]["anyOf"];
    };
    EXPECT_EQ(list(properties["case"]["enum"]), Names(family.cases.begin(), family.cases.end()));
    EXPECT_EQ(list(resolve(properties["precision"])[0]["enum"]),
              Names(family.precisions.begin(), family.precisions.end()));
    EXPECT_EQ(list(resolve(properties["device"])[0]["enum"]),
              Names(device_kinds().begin(), device_kinds().end()));
    std::size_t keys = 4 + family.axes.size() + (family.check_sizes == nullptr ? 0 : 1);
    EXPECT_EQ(properties.size(), keys);
    for (const Axis& axis : family.axes) {
      SCOPED_TRACE(axis.key);
      const Json either = resolve(properties[std::string(axis.key)]);
      for (const Json& value : {either[0], either[1]["items"]}) {
        if (axis.choices.empty()) {
          EXPECT_EQ(value["minimum"], axis.least);
          EXPECT_EQ(value["maximum"], axis.most);
        } else {
          EXPECT_EQ(list(value["enum"]), Names(axis.choices.begin(), axis.choices.end()));
        }
      }
    }
  }
  EXPECT_EQ(list(entry["properties"]["family"]["enum"]), family_names);
}

}  // namespace
}  // namespace trainbench
