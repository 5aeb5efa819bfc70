#include "bench/families/stream.h"

#include <gtest/gtest.h>

#include <cmath>

#include "bench/harness/run_environment.h"
#include "common/core/error.h"
#include "common/host_values.h"
#include "tests/bench/probing_backend.h"

namespace trainbench {
namespace {

/// Adds a quarter to the element of `a` at `index`, or to the sum.
class SpoiledStream : public ForwardingProbes {
 public:
  SpoiledStream(std::unique_ptr<Probes> inner, Backend& backend, std::int64_t index)
      : ForwardingProbes(std::move(inner)), backend_(backend), index_(index) {}

  void stream(StreamKernel kernel, const StreamOperands& operands, std::int64_t passes) override {
    ForwardingProbes::stream(kernel, operands, passes);
    const Tensor result =
        operands.a.absent() ? operands.sum : operands.a.range(index_ % operands.a.elements(), 1);
    write_values(backend_, result, {read_values(backend_, result)[0] + 0.25});
  }

 private:
  Backend& backend_;
  std::int64_t index_;
};

SuiteCase stream_case(const std::string& kernel, int kib) {
  SuiteCase wanted;
  wanted.id = CaseId::parse("stream/" + kernel +
                            "/" TRAINBENCH_TEST_DEVICE "/fp32/kib:" + std::to_string(kib));
  return wanted;
}

class Stream : public testing::TestWithParam<StreamForm> {
 protected:
  std::string kernel() const { return std::string(GetParam().name); }
};

TEST_P(Stream, EveryElementIsRightAtEverySize) {
  RunEnvironment environment;
  for (const int kib : {1, 5, 48, 1024}) {
    SCOPED_TRACE(kib);
    CaseResult result;
    const auto prepared = prepare_stream(stream_case(kernel(), kib), environment);
    prepared->check(result);
    const double bytes = result.counters.at("bytes_per_iteration");
    // Whole grains, and at least one of each array.
    EXPECT_EQ(std::fmod(bytes, 4.0 * kStreamGrain * GetParam().arrays()), 0);
    if (kib >= 5) {
      EXPECT_LE(bytes, 1024.0 * kib);
      EXPECT_GT(bytes, 1024.0 * kib - 4.0 * kStreamGrain * GetParam().arrays());
    }
    EXPECT_EQ(result.counters.at("checked_outputs"),
              GetParam().writes ? bytes / 4 / GetParam().arrays() : 1);
    EXPECT_LE(result.counters.at("error_of_tolerance"), 1);
    const Measurement measurement = prepared->run(3);
    EXPECT_GT(measurement.wall_seconds, 0);
    EXPECT_NO_THROW(prepared->check(result)) << "passes leave the operands as they were";
  }
}

TEST_P(Stream, OneWrongElementFailsTheCase) {
  for (const std::int64_t index : {std::int64_t{0}, std::int64_t{777}, std::int64_t{-1}}) {
    RunEnvironment environment;
    environment.devices = probing_devices([index](std::unique_ptr<Probes> inner, Backend& backend) {
      const std::int64_t last = std::int64_t{1} << 40;
      return std::make_unique<SpoiledStream>(std::move(inner), backend,
                                             index < 0 ? last - 1 : index);
    });
    CaseResult result;
    const auto prepared = prepare_stream(stream_case(kernel(), 12), environment);
    EXPECT_THROW(prepared->check(result), DeviceError) << index;
  }
}

INSTANTIATE_TEST_SUITE_P(Kernels, Stream, testing::ValuesIn(kStreamForms),
                         [](const auto& form) { return std::string(form.param.name); });

TEST(StreamCase, SaysWhichMemoryHoldsIt) {
  RunEnvironment environment;
  CaseResult result;
  prepare_stream(stream_case("triad", 12), environment)->check(result);
  EXPECT_EQ(result.counters.at("cache_level"), 1);
  EXPECT_EQ(result.details["working_set"]["held_by"], "L1");
}

TEST(StreamCase, MoreThanAQuarterOfTheMemoryIsRefused) {
  RunEnvironment environment;
  EXPECT_THROW(prepare_stream(stream_case("copy", 1 << 30), environment), Unsupported);
}

}  // namespace
}  // namespace trainbench
