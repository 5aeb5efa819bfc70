#include "bench/families/transfer.h"

#include <gtest/gtest.h>

#include "bench/harness/run_environment.h"
#include "common/core/error.h"
#include "tests/bench/probing_backend.h"

namespace trainbench {
namespace {

/// Loses the last byte of each copy.
class ShortTransfer : public ForwardingProbes {
 public:
  using ForwardingProbes::ForwardingProbes;

  void transfer(const Transfer& copies, std::int64_t times) override {
    Transfer shorter = copies;
    if (!copies.to_device.absent()) {
      shorter.to_device = copies.to_device.range(0, copies.to_device.elements() - 1);
    }
    if (!copies.from_device.absent()) {
      shorter.from_device = copies.from_device.range(0, copies.from_device.elements() - 1);
    }
    ForwardingProbes::transfer(shorter, times);
  }
};

std::unique_ptr<PreparedCase> prepare(const std::string& name, const std::string& host,
                                      RunEnvironment& environment) {
  SuiteCase wanted;
  wanted.id =
      CaseId::parse("transfer/" + name + "/" TRAINBENCH_TEST_DEVICE "/u8/kib:5/host:" + host);
  return prepare_transfer(wanted, environment);
}

class TransferTest : public testing::TestWithParam<const char*> {};

TEST_P(TransferTest, EveryByteArrives) {
  for (const char* host : {"pinned", "pageable"}) {
    RunEnvironment environment;
    if (std::string(TRAINBENCH_TEST_DEVICE) == "cpu") {
      EXPECT_THROW(prepare(GetParam(), host, environment), Unsupported);
      continue;
    }
    const auto prepared = prepare(GetParam(), host, environment);
    CaseResult result;
    prepared->check(result);
    const int directions = std::string(GetParam()) == "both" ? 2 : 1;
    EXPECT_EQ(result.counters.at("transferred_per_iteration"), directions * 5 * 1024);
    EXPECT_GT(prepared->run(3).wall_seconds, 0);
    EXPECT_NO_THROW(prepared->check(result));
  }
}

TEST_P(TransferTest, AByteThatDoesNotArriveFailsTheCase) {
  if (std::string(TRAINBENCH_TEST_DEVICE) == "cpu") return;
  RunEnvironment environment;
  environment.devices = probing_devices([](std::unique_ptr<Probes> inner, Backend&) {
    return std::make_unique<ShortTransfer>(std::move(inner));
  });
  const auto prepared = prepare(GetParam(), "pinned", environment);
  CaseResult result;
  EXPECT_THROW(prepared->check(result), DeviceError);
}

INSTANTIATE_TEST_SUITE_P(Cases, TransferTest, testing::Values("h2d", "d2h", "both"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace trainbench
