// What verify says, and with which exit code, of right results, a wrong one and a failing device.

#include "bench/commands/verify.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "common/core/error.h"
#include "common/forwarding_backend.h"

namespace trainbench {
namespace {

enum class Fault { none, wrong_element, failing_device };

/// Owns what it forwards to, and breaks its mean() as told. The device is the CPU: its memory can
/// be written here.
class FaultyBackend : public ForwardingBackend {
 public:
  FaultyBackend(std::unique_ptr<Backend> inner, Fault fault)
      : ForwardingBackend(*inner), owned_(std::move(inner)), fault_(fault) {}

  void mean(ConstTensor values, Tensor mean) override {
    if (fault_ == Fault::failing_device) throw DeviceError("the device fell over");
    inner_.mean(values, mean);
    if (fault_ == Fault::wrong_element) *mean.as<float>() += 0.25f;
  }

 private:
  std::unique_ptr<Backend> owned_;
  Fault fault_;
};

struct Outcome {
  int exit_code = 0;
  std::string output;
};

Outcome verify_with(Fault fault, bool json) {
  RunEnvironment environment;
  environment.data = DataSources({"synthetic"});
  environment.devices = Devices({.wrap = [fault](std::unique_ptr<Backend> backend) {
    return std::make_unique<FaultyBackend>(std::move(backend), fault);
  }});
  const VerifyOptions options{
      .devices = {"cpu"}, .precisions = {"fp32"}, .filter = "^(operations|mlp.*)$", .json = json};
  ::testing::internal::CaptureStdout();
  Outcome outcome;
  outcome.exit_code = verify(options, environment);
  outcome.output = ::testing::internal::GetCapturedStdout();
  return outcome;
}

/// The operations, and an MLP's step in two ways; each of them takes a mean.
constexpr std::size_t kParts = 3;

std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++count;
  return count;
}

TEST(Verify, RightResultsPass) {
  const Outcome outcome = verify_with(Fault::none, true);
  EXPECT_EQ(outcome.exit_code, 0);
  const auto document = nlohmann::json::parse(outcome.output);
  EXPECT_EQ(document.at("passed"), true);
  EXPECT_TRUE(document.at("without_rows").empty()) << document.at("without_rows");
  ASSERT_GT(document.at("rows").size(), 50u);
  for (const auto& row : document.at("rows")) {
    EXPECT_EQ(row.at("passed"), true) << row;
    EXPECT_EQ(row.at("failures"), 0) << row;
    EXPECT_GT(row.at("checked"), 0) << row;
    EXPECT_LE(row.at("error"), row.at("tolerance")) << row;
    EXPECT_FALSE(row.contains("reason")) << row;
  }
}

TEST(Verify, AWrongResultFailsItsRowsAndTheCommand) {
  const Outcome outcome = verify_with(Fault::wrong_element, true);
  EXPECT_EQ(outcome.exit_code, 1);
  const auto document = nlohmann::json::parse(outcome.output);
  EXPECT_EQ(document.at("passed"), false);
  std::size_t failed = 0;
  for (const auto& row : document.at("rows")) {
    EXPECT_EQ(row.at("passed"), row.at("output") != "mean") << row;
    if (row.at("passed").get<bool>()) continue;
    ++failed;
    EXPECT_GE(row.at("failures"), 1);
    EXPECT_GT(row.at("error"), row.at("tolerance"));
    EXPECT_NEAR(row.at("error"), 0.25, 1e-3);
    EXPECT_NE(row.at("reason").get<std::string>().find("mean"), std::string::npos) << row;
  }
  EXPECT_EQ(failed, kParts);
}

TEST(Verify, TheTableMarksWhatFailed) {
  const Outcome outcome = verify_with(Fault::wrong_element, false);
  EXPECT_EQ(outcome.exit_code, 1);
  const std::string total =
      " in " + std::to_string(kParts) + " parts: " + std::to_string(kParts) + " failed, 0 skipped";
  EXPECT_NE(outcome.output.find(total), std::string::npos) << outcome.output;
  // Each once in its row, once in its part's reason.
  EXPECT_EQ(count_of(outcome.output, "FAIL"), 2 * kParts) << outcome.output;
}

TEST(Verify, ADeviceThatFailsIsNamedAndFailsTheCommand) {
  const Outcome outcome = verify_with(Fault::failing_device, true);
  EXPECT_EQ(outcome.exit_code, 1);
  const auto document = nlohmann::json::parse(outcome.output);
  EXPECT_EQ(document.at("passed"), false);
  ASSERT_EQ(document.at("without_rows").size(), kParts);
  for (const auto& part : document.at("without_rows")) {
    EXPECT_EQ(part.at("status"), "FAIL");
    EXPECT_EQ(part.at("reason"), "the device fell over");
  }
}

TEST(Verify, NoneOfTheDevicesIsBadInput) {
  RunEnvironment environment;
  environment.devices = Devices({.gpu_index = 1000});
  EXPECT_THROW(verify({.devices = {"gpu"}}, environment), InputError);
}

}  // namespace
}  // namespace trainbench
