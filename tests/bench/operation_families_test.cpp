// Cases whose iteration is an operation: they compute what they say, count what it costs, and fail
// where one element is wrong.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "bench/harness/case.h"
#include "bench/harness/run_environment.h"
#include "common/core/error.h"
#include "common/forwarding_backend.h"
#include "common/host_values.h"

namespace trainbench {
namespace {

const std::string kDevice = TRAINBENCH_TEST_DEVICE;

/// Owns what it forwards to, and adds a quarter to the last element of each result.
class SpoilingDevice : public ForwardingBackend {
 public:
  explicit SpoilingDevice(std::unique_ptr<Backend> inner)
      : ForwardingBackend(*inner), owned_(std::move(inner)) {}

  void matmul(const MatmulForm& form, ConstTensor a, ConstTensor b, Tensor c,
              const MatmulEpilogue& epilogue) override {
    inner_.matmul(form, a, b, c, epilogue);
    spoil(c);
  }
  void conv2d(const Window& window, ConstTensor x, ConstTensor weights, ConstTensor bias, Tensor y,
              MathMode math) override {
    inner_.conv2d(window, x, weights, bias, y, math);
    spoil(y);
  }
  void conv2d_data_gradient(const Window& window, ConstTensor dy, ConstTensor weights, Tensor dx,
                            bool accumulate, MathMode math) override {
    inner_.conv2d_data_gradient(window, dy, weights, dx, accumulate, math);
    spoil(dx);
  }
  void conv2d_weight_gradient(const Window& window, ConstTensor x, ConstTensor dy, Tensor dw,
                              Tensor db, MathMode math) override {
    inner_.conv2d_weight_gradient(window, x, dy, dw, db, math);
    spoil(dw);
  }
  void attention(const AttentionOptions& options, ConstTensor qkv, Tensor y, Tensor logsum,
                 MathMode math) override {
    inner_.attention(options, qkv, y, logsum, math);
    spoil(y);
  }
  void attention_backward(const AttentionOptions& options, ConstTensor qkv, ConstTensor y,
                          ConstTensor logsum, ConstTensor dy, Tensor dqkv, MathMode math) override {
    inner_.attention_backward(options, qkv, y, logsum, dy, dqkv, math);
    spoil(dqkv);
  }
  void add(ConstTensor a, ConstTensor b, Tensor y) override {
    inner_.add(a, b, y);
    spoil(y);
  }

 private:
  void spoil(Tensor result) {
    const Tensor last = result.range(result.elements() - 1, 1);
    write_values(inner_, last, {read_values(inner_, last)[0] + 0.25});
  }

  std::unique_ptr<Backend> owned_;
};

std::unique_ptr<PreparedCase> prepare(const std::string& name, RunEnvironment& environment) {
  SuiteCase wanted;
  wanted.id = CaseId::parse(name);
  return family_factory(wanted.id.family)(wanted, environment);
}

/// A small case of each kind of operation, with what it costs.
struct Problem {
  const char* family_and_case;
  const char* keys;
  double flops;
  double elements;  ///< of all operands and results
  bool all_precisions = true;
};

// Images of 2 x 7 x 7 x 3, eight filters of 3 x 3, outputs of 2 x 4 x 4 x 8.
constexpr const char* kConvolution =
    "batch:2/image:7/channels:3/filters:8/kernel:3/stride:2/padding:1";
constexpr double kConvolutionFlops = 2.0 * (2 * 4 * 4 * 8) * (3 * 3 * 3);
constexpr double kConvolutionElements = 2 * 7 * 7 * 3 + 8 * 3 * 3 * 3 + 2 * 4 * 4 * 8;

// One product over two samples of five steps and two heads of eight columns; causal: 15 pairs.
constexpr const char* kHeads = "batch:2/steps:5/heads:2/width:8";
constexpr double kHeadFlops = 2.0 * 2 * 15 * 16;
constexpr double kWide = 2 * 5 * 16;  // elements of y
constexpr double kLogsum = 2 * 2 * 5;

constexpr Problem kProblems[] = {
    {"matmul/nn", "m:5/n:40/k:24", 2.0 * 5 * 40 * 24, 5 * 40 + 24 * 40 + 5 * 24},
    {"matmul/nt", "m:33/n:8/k:16", 2.0 * 33 * 8 * 16, 33 * 8 + 16 * 8 + 33 * 16},
    {"matmul/tn", "m:1/n:70/k:9", 2.0 * 70 * 9, 70 + 9 * 70 + 9},
    {"conv/forward", kConvolution, kConvolutionFlops, kConvolutionElements},
    {"conv/data_gradient", kConvolution, kConvolutionFlops, kConvolutionElements},
    {"conv/weight_gradient", kConvolution, kConvolutionFlops, kConvolutionElements},
    {"attention/forward", kHeads, 2 * kHeadFlops, 4 * kWide + kLogsum},
    {"attention/backward", kHeads, 4 * kHeadFlops, 8 * kWide + kLogsum},
    {"scaling/compute", "size:12", 2.0 * 12 * 12 * 12, 3 * 12 * 12, false},
    {"scaling/bandwidth", "size:3", 0, 3 * 3 * 1024, false},
};

class Operation : public testing::TestWithParam<Problem> {
 protected:
  static std::string name(const std::string& precision) {
    return std::string(GetParam().family_and_case) + "/" + kDevice + "/" + precision + "/" +
           GetParam().keys;
  }
};

TEST_P(Operation, IsCheckedCountedAndRepeated) {
  for (const std::string precision : {"fp32", "fp64", "bf16"}) {
    if (precision != "fp32" && !GetParam().all_precisions) continue;
    SCOPED_TRACE(precision);
    RunEnvironment environment;
    CaseResult result;
    const auto prepared = prepare(name(precision), environment);
    prepared->check(result);
    EXPECT_GT(result.counters.at("checked_outputs"), 0);
    EXPECT_LE(result.counters.at("error_of_tolerance"), 1);
    EXPECT_EQ(result.counters.at("flops_per_iteration"), GetParam().flops);
    if (precision == "fp32") {
      EXPECT_EQ(result.counters.at("bytes_per_iteration"), 4 * GetParam().elements);
    }
    const std::int64_t allocations = prepared->memory().allocations;
    EXPECT_GT(prepared->run(3).wall_seconds, 0);
    prepared->after_repetition();
    EXPECT_EQ(prepared->memory().allocations, allocations);
    EXPECT_NO_THROW(prepared->check(result)) << "iterations leave the operands as they were";
  }
}

TEST_P(Operation, OneWrongElementFailsTheCase) {
  RunEnvironment environment;
  environment.devices = Devices({.wrap = [](std::unique_ptr<Backend> backend) {
    return std::make_unique<SpoilingDevice>(std::move(backend));
  }});
  CaseResult result;
  const auto prepared = prepare(name("fp32"), environment);
  EXPECT_THROW(prepared->check(result), DeviceError);
}

INSTANTIATE_TEST_SUITE_P(Small, Operation, testing::ValuesIn(kProblems), [](const auto& problem) {
  std::string name = problem.param.family_and_case;
  name[name.find('/')] = '_';
  return name;
});

void expect_skipped(const std::string& name, const std::string& word) {
  RunEnvironment environment;
  try {
    prepare(name, environment);
    ADD_FAILURE() << name << " was prepared";
  } catch (const Unsupported& reason) {
    EXPECT_NE(std::string(reason.what()).find(word), std::string::npos) << reason.what();
  }
}

TEST(MatmulCase, AProviderOfTheOtherDeviceIsSkippedWithTheReason) {
  const std::string other = kDevice == "cpu" ? "vendor" : "eigen";
  expect_skipped("matmul/nn/" + kDevice + "/fp32/m:4/n:4/k:4/provider:" + other, other);
}

TEST(MatmulCase, TheNaiveLoopsWantOneThread) {
  if (kDevice != "cpu") GTEST_SKIP() << "a rung of the CPU's";
  const std::string name = "matmul/nn/cpu/fp32/m:4/n:4/k:4/provider:naive";
  expect_skipped(name, "one thread");
  RunEnvironment environment;
  CaseResult result;
  prepare(name + "/threads:1", environment)->check(result);
  ASSERT_EQ(result.served.size(), 1u);
  EXPECT_EQ(result.served[0].provider, "naive");
}

TEST(MatmulCase, Tf32IsSkippedOnTheCpu) {
  if (kDevice != "cpu") GTEST_SKIP() << "a format of the GPU's";
  expect_skipped("matmul/nn/cpu/tf32/m:4/n:4/k:4", "tf32");
}

TEST(ConvCase, AWindowLargerThanTheImageIsSkippedWithTheReason) {
  expect_skipped("conv/forward/" + kDevice +
                     "/fp32/batch:1/image:2/channels:1/filters:1/kernel:5/stride:1/padding:1",
                 "window");
}

TEST(ScalingCase, MoreThreadsThanTheCpuHasAreSkippedWithTheReason) {
  if (kDevice != "cpu") GTEST_SKIP() << "threads are the CPU's";
  expect_skipped("scaling/compute/cpu/fp32/size:8/threads:4096", "hardware threads");
}

TEST(InferCase, RequestsAreCheckedAndTheirSpreadIsTold) {
  RunEnvironment environment;
  environment.data = DataSources({"synthetic"});
  SuiteCase wanted;
  wanted.id = CaseId::parse("infer/mlp/" + kDevice + "/fp32/batch:3/hidden:16");
  wanted.sizes = {{"hidden", 16}};
  const auto prepared = family_factory("infer")(wanted, environment);
  CaseResult result;
  prepared->check(result);
  EXPECT_EQ(result.counters.at("samples_per_iteration"), 3);
  const Measurement measurement = prepared->run(20);
  const double p50 = measurement.counters.at("p50_time");
  EXPECT_GT(p50, 0);
  EXPECT_LE(p50, measurement.counters.at("p99_time"));
  EXPECT_LE(20 * measurement.counters.at("p50_time"), 2 * measurement.wall_seconds)
      << "at least half of the requests take the median";
  EXPECT_EQ(prepared->memory()[MemoryKind::optimizer], 0u);
}

TEST(InferCase, OneWrongElementFailsTheCase) {
  RunEnvironment environment;
  environment.data = DataSources({"synthetic"});
  environment.devices = Devices({.wrap = [](std::unique_ptr<Backend> backend) {
    return std::make_unique<SpoilingDevice>(std::move(backend));
  }});
  SuiteCase wanted;
  wanted.id = CaseId::parse("infer/mlp/" + kDevice + "/fp32/batch:3/hidden:16");
  wanted.sizes = {{"hidden", 16}};
  const auto prepared = family_factory("infer")(wanted, environment);
  CaseResult result;
  EXPECT_THROW(prepared->check(result), DeviceError);
}

TEST(MatmulCase, TheSeedDecidesTheOperands) {
  const auto error_at = [](std::uint64_t seed) {
    RunEnvironment environment;
    environment.seed = seed;
    CaseResult result;
    prepare("matmul/nn/" + kDevice + "/fp32/m:16/n:16/k:64", environment)->check(result);
    return result.counters.at("max_relative_error");
  };
  EXPECT_EQ(error_at(1), error_at(1));
  EXPECT_NE(error_at(1), error_at(2));
}

}  // namespace
}  // namespace trainbench
