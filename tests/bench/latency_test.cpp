#include "bench/families/latency.h"

#include <gtest/gtest.h>

#include <set>

#include "bench/harness/run_environment.h"
#include "common/core/error.h"
#include "common/host_values.h"
#include "tests/bench/probing_backend.h"

namespace trainbench {
namespace {

/// Keeps the table, and can lose a load or a step.
class WatchedLatency : public ForwardingProbes {
 public:
  WatchedLatency(std::unique_ptr<Probes> inner, Backend& backend, int lost,
                 std::vector<double>* table)
      : ForwardingProbes(std::move(inner)), backend_(backend), lost_(lost), table_(table) {}

  void chase(ConstTensor table, std::int64_t loads, Tensor place) override {
    *table_ = read_values(backend_, table);
    ForwardingProbes::chase(table, loads - lost_, place);
  }
  void chains(std::int64_t steps, Tensor last) override {
    ForwardingProbes::chains(steps + lost_, last);
  }

 private:
  Backend& backend_;
  int lost_;
  std::vector<double>* table_;
};

class Latency : public testing::Test {
 protected:
  std::unique_ptr<PreparedCase> prepare(const std::string& name, const std::string& key,
                                        int lost = 0) {
    environment_.devices =
        probing_devices([this, lost](std::unique_ptr<Probes> inner, Backend& backend) {
          return std::make_unique<WatchedLatency>(std::move(inner), backend, lost, &table_);
        });
    SuiteCase wanted;
    wanted.id = CaseId::parse("latency/" + name + "/" TRAINBENCH_TEST_DEVICE "/fp32/" + key);
    return prepare_latency(wanted, environment_);
  }

  RunEnvironment environment_;
  std::vector<double> table_;
};

TEST_F(Latency, TheWalkIsOneCycleThroughAllLines) {
  const auto prepared = prepare("chase", "kib:16");
  CaseResult result;
  prepared->check(result);
  const auto lines = static_cast<std::size_t>(result.counters.at("loads_per_iteration"));
  const std::size_t step = table_.size() / lines;
  EXPECT_EQ(table_.size() * 4, 16u * 1024);
  std::set<std::size_t> seen;
  std::size_t element = 0;
  do {
    EXPECT_EQ(element % step, 0u);
    ASSERT_TRUE(seen.insert(element).second) << "a shorter cycle";
    element = static_cast<std::size_t>(table_[element]);
  } while (element != 0);
  EXPECT_EQ(seen.size(), lines);
  EXPECT_EQ(result.counters.at("cache_level"), 1);
  EXPECT_FALSE(result.counters.contains("bytes_per_load")) << "the caches are no memory";
  EXPECT_GT(prepared->run(2).wall_seconds, 0);
  EXPECT_NO_THROW(prepared->check(result));
}

TEST_F(Latency, TheSmallestWalkIsOfTwoLines) {
  CaseResult result;
  prepare("chase", "kib:1")->check(result);
  EXPECT_GE(result.counters.at("loads_per_iteration"), 2);
}

TEST_F(Latency, ALoadThatIsLeftOutFailsTheCase) {
  CaseResult result;
  EXPECT_THROW(prepare("chase", "kib:16", 1)->check(result), DeviceError);
}

TEST_F(Latency, ChainsEndWhereTheyShould) {
  for (const int chains : {1, 2, 4, 8, 16, 64, 128, 256, 512, 4096}) {
    SCOPED_TRACE(chains);
    const auto prepared = prepare("fma", "chains:" + std::to_string(chains));
    CaseResult result;
    prepared->check(result);
    EXPECT_EQ(result.counters.at("checked_outputs"), 3 * chains);
    EXPECT_LE(result.counters.at("error_of_tolerance"), 1);
    EXPECT_EQ(result.counters.at("flops_per_iteration"),
              2 * chains * result.counters.at("operations_in_turn"));
    EXPECT_EQ(result.counters.contains("flops_per_operation"), chains == 1);
    EXPECT_FALSE(result.details["layout"].get<std::string>().empty());
    EXPECT_GT(prepared->run(1).wall_seconds, 0);
  }
}

TEST_F(Latency, AStepTooManyFailsTheCase) {
  for (const int chains : {1, 64}) {
    CaseResult result;
    const std::string key = "chains:" + std::to_string(chains);
    EXPECT_THROW(prepare("fma", key, 1)->check(result), DeviceError);
    EXPECT_THROW(prepare("fma", key, -1)->check(result), DeviceError);
  }
}

TEST_F(Latency, ChainsAreAPowerOfTwo) { EXPECT_THROW(prepare("fma", "chains:12"), Unsupported); }

}  // namespace
}  // namespace trainbench
