#include "bench/families/launch.h"

#include <gtest/gtest.h>

#include "bench/harness/run_environment.h"
#include "common/core/error.h"
#include "tests/bench/probing_backend.h"

namespace trainbench {
namespace {

/// Counts launches, and leaves out every `lost`-th.
class WatchedLaunches : public ForwardingProbes {
 public:
  WatchedLaunches(std::unique_ptr<Probes> inner, int lost, int* launches)
      : ForwardingProbes(std::move(inner)), lost_(lost), launches_(launches) {}

  void empty(Tensor counts) override {
    ++*launches_;
    if (lost_ == 0 || *launches_ % lost_ != 0) ForwardingProbes::empty(counts);
  }
  void barriers(std::int64_t times, Tensor counts) override {
    *launches_ += static_cast<int>(times);
    ForwardingProbes::barriers(lost_ == 0 ? times : times - 1, counts);
  }

 private:
  int lost_;
  int* launches_;
};

class Launch : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<PreparedCase> prepare(int lost) {
    environment_.devices = probing_devices([this, lost](std::unique_ptr<Probes> inner, Backend&) {
      return std::make_unique<WatchedLaunches>(std::move(inner), lost, &launches_);
    });
    SuiteCase wanted;
    wanted.id =
        CaseId::parse(std::string("launch/") + GetParam() + "/" TRAINBENCH_TEST_DEVICE "/fp32");
    return prepare_launch(wanted, environment_);
  }
  bool has_no_such_launch() const {
    return std::string(GetParam()) == "barrier" && std::string(TRAINBENCH_TEST_DEVICE) == "gpu";
  }

  RunEnvironment environment_;
  int launches_ = 0;
};

TEST_P(Launch, EveryUnitSeesEveryLaunch) {
  const auto prepared = prepare(0);
  CaseResult result;
  if (has_no_such_launch()) {
    EXPECT_THROW(prepared->check(result), Unsupported);
    return;
  }
  prepared->check(result);
  const auto each = static_cast<int>(result.counters.at("launches_per_iteration"));
  EXPECT_EQ(each, std::string(GetParam()) == "empty" ? 1 : 32);
  launches_ = 0;
  EXPECT_GT(prepared->run(3).wall_seconds, 0);
  const bool replayed_by_device =
      std::string(GetParam()) == "graph" && std::string(TRAINBENCH_TEST_DEVICE) == "gpu";
  EXPECT_EQ(launches_, replayed_by_device ? 0 : 3 * each);
}

TEST_P(Launch, OneThatIsLeftOutFailsTheCase) {
  if (has_no_such_launch()) return;
  const auto prepared = prepare(std::string(GetParam()) == "empty" ? 1 : 32);
  CaseResult result;
  EXPECT_THROW(prepared->check(result), DeviceError);
}

INSTANTIATE_TEST_SUITE_P(Cases, Launch, testing::Values("empty", "chain", "graph", "barrier"),
                         [](const auto& name) { return std::string(name.param); });

}  // namespace
}  // namespace trainbench
