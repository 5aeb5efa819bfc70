#include "common/cost/device_spec.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "common/core/error.h"
#include "tests/corpus_files.h"

namespace trainbench {
namespace {

const std::filesystem::path kCorpus =
    std::filesystem::path(TRAINBENCH_SOURCE_DIR) / "tests/cost/device_corpus";

// schema_test.py puts the same files through the schema.
TEST(DeviceCorpus, GoodFilesAreRead) {
  const auto files = json_files_of(kCorpus / "good");
  ASSERT_GE(files.size(), 6u);
  for (const auto& file : files) {
    SCOPED_TRACE(file.string());
    EXPECT_NO_THROW(EXPECT_GT(read_device_spec(file.string()).peaks.at("fp32").flops, 0));
  }
}

TEST(DeviceCorpus, BadFilesAreRefusedInOneLineThatSaysWhy) {
  const auto files = json_files_of(kCorpus / "bad");
  ASSERT_GE(files.size(), 30u);
  for (const auto& file : files) {
    SCOPED_TRACE(file.string());
    std::ifstream beside(std::filesystem::path(file).replace_extension(".message"));
    std::string expected;
    ASSERT_TRUE(std::getline(beside, expected));
    try {
      read_device_spec(file.string());
      ADD_FAILURE() << "was accepted";
    } catch (const InputError& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find(file.string()), 0u) << message;
      EXPECT_NE(message.find(expected), std::string::npos) << message;
      EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    }
  }
}

TEST(DeviceSpec, ShippedDevicesAreTheEightAndAgreeWithThemselves) {
  const std::vector<std::string> expected{"a100-40gb", "a100-80gb", "h100-pcie", "h100-sxm",
                                          "h200",      "p100",      "rtx-4090",  "v100"};
  EXPECT_EQ(device_names(), expected);
  for (const std::string& name : expected) {
    const DeviceSpec device = find_device(name);
    EXPECT_EQ(device.peer_link.has_value(), device.sources.contains("peer_link")) << name;
    EXPECT_GE(device.peaks.at("fp32").flops, device.peaks.at("fp64").flops) << name;
  }
}

TEST(DeviceSpec, ARateMustKeepSumsAsTrainingDoes) {
  const DeviceSpec consumer = find_device("rtx-4090");
  EXPECT_EQ(consumer.peak(kFp16).flops, 165.2e12);
  EXPECT_EQ(consumer.peak(kFp16).unit, MathUnit::tensor_cores);
  EXPECT_EQ(consumer.peak(kFp32).unit, MathUnit::cuda_cores);
  const DeviceSpec old = find_device("p100");
  EXPECT_THROW(old.peak(kFp16), Unsupported);  // sums in fp16
  EXPECT_THROW(old.peak(kTf32), Unsupported);
}

TEST(DeviceSpec, AnUnknownNameNamesTheNearest) {
  try {
    find_device("h20");
    ADD_FAILURE() << "was found";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean \"h200\"?"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace trainbench
