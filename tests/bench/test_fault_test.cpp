#include "bench/harness/test_fault.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "common/core/error.h"

namespace trainbench {
namespace {

/// Pretends that each iteration took 4 ms by both clocks.
class PretendedCase : public PreparedCase {
 public:
  void check(CaseResult& result) override { result.counters["checked_outputs"] = 1; }
  Measurement run(std::int64_t iterations) override {
    const double seconds = 4e-3 * static_cast<double>(iterations);
    return {.wall_seconds = seconds, .device_seconds = seconds, .counters = {}};
  }
  MemoryUse memory() const override { return {.bytes = {17}, .allocations = 1}; }
};

class TestFault : public testing::Test {
 protected:
  ~TestFault() override { ::unsetenv("TRAINBENCH_TEST_FAULT"); }

  static std::unique_ptr<PreparedCase> planted(const char* fault) {
    ::setenv("TRAINBENCH_TEST_FAULT", fault, 1);
    return with_test_fault(std::make_unique<PretendedCase>(),
                           CaseId::parse("fake/pretended/gpu/fp32/batch:8"));
  }
};

TEST_F(TestFault, SlowsByTheFactorOnBothClocks) {
  const auto prepared = planted("slow:pretended.*batch:8:1.5");
  EXPECT_EQ(test_fault(), "slow:pretended.*batch:8:1.5");
  const Measurement measurement = prepared->run(2);
  EXPECT_GE(measurement.wall_seconds, 12e-3);
  EXPECT_EQ(measurement.device_seconds, 12e-3);
  EXPECT_EQ(prepared->memory().total(), 17u);
}

TEST_F(TestFault, LeavesOtherCasesAlone) {
  EXPECT_EQ(planted("slow:another:1.5")->run(2).wall_seconds, 8e-3);
  EXPECT_EQ(planted("")->run(2).wall_seconds, 8e-3);
  EXPECT_EQ(test_fault(), "");
}

TEST_F(TestFault, FailsInARepetition) {
  const auto prepared = planted("fail:pretended");
  CaseResult result;
  prepared->check(result);
  EXPECT_EQ(result.counters.at("checked_outputs"), 1);
  EXPECT_EQ(prepared->run(1).wall_seconds, 4e-3);
  EXPECT_THROW(prepared->after_repetition(), DeviceError);
}

using TestFaultDeath = TestFault;

TEST_F(TestFaultDeath, CrashesInARepetition) {
  EXPECT_EXIT(planted("crash:pretended")->after_repetition(), testing::KilledBySignal(SIGSEGV), "");
  EXPECT_EXIT(planted("kill:pretended")->after_repetition(), testing::KilledBySignal(SIGKILL), "");
}

TEST_F(TestFault, RefusesWhatIsNone) {
  for (const char* text : {"slow", "slow:x", "slow:x:", "slow:x:0.9", "slow:x:1.5s", "slow:x:nan",
                           "sloww:x:1.5", "crash", "crash:("}) {
    EXPECT_THROW(planted(text), InputError) << text;
  }
}

}  // namespace
}  // namespace trainbench
