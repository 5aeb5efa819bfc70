#include "bench/harness/runner.h"

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <map>
#include <new>
#include <set>
#include <thread>

#include "bench/harness/interrupt.h"
#include "common/core/error.h"

namespace trainbench {
namespace {

/// What a fake case does; looked up by the case's name.
struct Behaviour {
  double wall = 2e-3;  ///< seconds of an iteration, really slept
  double device = 0;   ///< seconds of an iteration by a pretended device clock; 0: none
  bool wrong_output = false;
  bool missing_device = false;
  bool too_large = false;
  int fail_at_run = -1;
};

class FakeCase : public PreparedCase {
 public:
  explicit FakeCase(const Behaviour& behaviour) : behaviour_(behaviour) {
    if (behaviour.missing_device) throw Unsupported("no such device here");
    if (behaviour.too_large) throw std::bad_alloc();
  }

  void check(CaseResult& result) override {
    if (behaviour_.wrong_output) throw DeviceError("output check failed: element 7");
    result.counters["checked_outputs"] = 1;
  }

  Measurement run(std::int64_t iterations) override {
    if (runs_++ == behaviour_.fail_at_run) throw DeviceError("the device fell over");
    const auto start = std::chrono::steady_clock::now();
    for (std::int64_t i = 0; i < iterations; ++i) {
      std::this_thread::sleep_for(std::chrono::duration<double>(behaviour_.wall));
    }
    Measurement measurement;
    measurement.wall_seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    if (behaviour_.device > 0) {
      measurement.device_seconds = behaviour_.device * static_cast<double>(iterations);
    }
    return measurement;
  }

  std::map<std::string, double> after_repetition() override { return {{"loss_last", 0.5}}; }
  MemoryUse memory() const override {
    return {.bytes = {0, 0, 0, 12, 3}, .allocations = 2};  // activations and workspace
  }

 private:
  Behaviour behaviour_;
  int runs_ = 0;
};

SuiteCase named(const std::string& name, const std::string& device = "cpu") {
  return {.id = {.family = "fake",
                 .name = name,
                 .device = device,
                 .precision = "fp32",
                 .keys = {{"batch", "8"}}},
          .sizes = {}};
}

class RunnerTest : public testing::Test {
 protected:
  RunnerOptions options() {
    RunnerOptions options;
    options.prepare = [this](const SuiteCase& wanted) {
      return std::make_unique<FakeCase>(behaviours[wanted.id.name]);
    };
    options.repetitions = 4;
    options.min_time = 5e-3;
    options.warmup = {.min_seconds = 0, .max_seconds = 0.01, .agreeing = 2, .tolerance = 0.5};
    return options;
  }

  std::map<std::string, Behaviour> behaviours;
};

TEST_F(RunnerTest, EachRepetitionIsASample) {
  behaviours["plain"] = {};
  const auto results = run_cases({named("plain")}, options());
  ASSERT_EQ(results.size(), 1u);
  EXPECT_EQ(results[0].status, Status::ok) << results[0].reason;
  EXPECT_EQ(results[0].counters.at("memory_bytes_activations"), 12);
  EXPECT_EQ(results[0].counters.at("memory_bytes_workspace"), 3);
  ASSERT_EQ(results[0].samples.size(), 4u);
  for (const Sample& sample : results[0].samples) {
    EXPECT_GE(sample.iterations, 2) << "5 ms of steps of at least 2 ms, warm-up allowing";
    EXPECT_GE(sample.real_time, 2e-3) << "seconds an iteration";
    EXPECT_NEAR(sample.real_time, sample.counters.at("wall_time"), 1e-3);
    EXPECT_LT(sample.cpu_time, sample.real_time) << "a sleeping case uses no CPU";
    EXPECT_EQ(sample.counters.at("loss_last"), 0.5);
    EXPECT_EQ(sample.counters.at("untimed_iterations"), 1);
    EXPECT_FALSE(sample.counters.contains("gpu_time"));
  }
}

TEST_F(RunnerTest, DeviceEventsAreTheManualTimeOfAGpuCase) {
  behaviours["gpu"] = {.wall = 2e-3, .device = 0.25};
  const auto results = run_cases({named("gpu", "gpu")}, options());
  ASSERT_EQ(results[0].samples.size(), 4u);
  for (const Sample& sample : results[0].samples) {
    EXPECT_NEAR(sample.real_time, 0.25, 1e-9);
    EXPECT_NEAR(sample.counters.at("gpu_time"), 0.25, 1e-9);
    EXPECT_LT(sample.counters.at("wall_time"), 0.1);
  }
}

TEST_F(RunnerTest, AWrongOutputIsNeverTimed) {
  behaviours["wrong"] = {.wrong_output = true};
  behaviours["right"] = {};
  const auto results = run_cases({named("wrong"), named("right")}, options());
  EXPECT_EQ(results[0].status, Status::failed);
  EXPECT_EQ(results[0].reason, "output check failed: element 7");
  EXPECT_TRUE(results[0].samples.empty());
  EXPECT_EQ(results[1].status, Status::ok);
  EXPECT_EQ(results[1].samples.size(), 4u);
}

TEST_F(RunnerTest, AMissingDeviceIsSkippedWithTheReason) {
  behaviours["absent"] = {.missing_device = true};
  const auto results = run_cases({named("absent", "gpu")}, options());
  EXPECT_EQ(results[0].status, Status::skipped);
  EXPECT_EQ(results[0].reason, "no such device here");
}

TEST_F(RunnerTest, ACaseTooLargeForTheMemorySaysSo) {
  behaviours["large"] = {.too_large = true};
  const auto results = run_cases({named("large"), named("plain")}, options());
  EXPECT_EQ(results[0].status, Status::failed);
  EXPECT_EQ(results[0].reason.rfind("out of memory", 0), 0u) << results[0].reason;
  EXPECT_EQ(results[1].samples.size(), 4u);
}

TEST_F(RunnerTest, AFailureWhileMeasuringCostsOnlyItsCase) {
  behaviours["falls"] = {.fail_at_run = 8};
  behaviours["stands"] = {};
  const auto results = run_cases({named("falls"), named("stands")}, options());
  EXPECT_EQ(results[0].status, Status::failed);
  EXPECT_EQ(results[0].reason, "the device fell over");
  EXPECT_LT(results[0].samples.size(), 4u);
  EXPECT_EQ(results[1].status, Status::ok);
  EXPECT_EQ(results[1].samples.size(), 4u);
}

TEST_F(RunnerTest, RepetitionsOfCasesAreInterleaved) {
  RunnerOptions interleaved = options();
  interleaved.repetitions = 10;
  std::vector<std::string> order;
  interleaved.on_sample = [&](const CaseResult& result, const Sample&) {
    order.push_back(result.id.name);
  };
  behaviours["a"] = {};
  behaviours["b"] = {};
  const auto results = run_cases({named("a"), named("b")}, interleaved);
  ASSERT_EQ(order.size(), 20u);
  int changes = 0;
  for (std::size_t i = 1; i < order.size(); ++i) changes += order[i] != order[i - 1];
  // A fair shuffle of ten and ten changes 10 times on average with deviation 2.2; in blocks: once.
  EXPECT_GT(changes, 1);
}

TEST_F(RunnerTest, AnInterruptKeepsWhatWasMeasured) {
  const InterruptGuard guard;
  RunnerOptions stopped = options();
  stopped.on_sample = [count = 0](const CaseResult&, const Sample&) mutable {
    if (++count == 2) std::raise(SIGINT);
  };
  behaviours["plain"] = {};
  const auto results = run_cases({named("plain")}, stopped);
  EXPECT_TRUE(interrupted());
  EXPECT_EQ(results[0].status, Status::ok);
  EXPECT_EQ(results[0].samples.size(), 2u);
}

}  // namespace
}  // namespace trainbench
