#include "common/models/resnet.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "common/check/random_tensor.h"
#include "common/cost/cost_backend.h"
#include "common/nn/trainer.h"
#include "cpu/cpu_backend.h"
#include "tests/finite_difference.h"

namespace trainbench {
namespace {

struct Case {
  std::string workload;
  ModelSizes sizes;
  std::int64_t batch;
};

/// The smallest ones that have every kind of block.
const Case kTiny20{"resnet20",
                   {{"image", 8},
                    {"channels", 2},
                    {"width", 2},
                    {"blocks1", 1},
                    {"blocks2", 1},
                    {"blocks3", 2},
                    {"classes", 3}},
                   3};
const Case kTiny50{"resnet50",
                   {{"image", 32},
                    {"channels", 1},
                    {"width", 1},
                    {"blocks1", 1},
                    {"blocks2", 2},
                    {"blocks3", 1},
                    {"blocks4", 1},
                    {"classes", 3}},
                   3};
/// What learns something within seconds.
const Case kSmall20{
    "resnet20",
    {{"image", 16}, {"channels", 1}, {"width", 8}, {"blocks1", 1}, {"blocks2", 1}, {"blocks3", 1}},
    32};

Batch random_batch(Backend& backend, const Case& c) {
  const Workload& workload = workload_by_name(c.workload);
  const SizeReader sizes(workload, c.sizes);
  const std::int64_t image = sizes.get("image");
  return {random_tensor(backend, Shape{c.batch, image, image, sizes.get("channels")}, DType::u8, 1,
                        0, 256),
          random_tensor(backend, Shape{c.batch}, DType::i32, 2, 0,
                        static_cast<double>(sizes.get("classes")))};
}

/// A trainer and a batch of random bytes.
struct TrainingRun {
  TrainingRun(const Case& c, const Precision& precision, bool fused = true, int threads = 1)
      : backend(make_cpu_backend({.threads = threads})),
        trainer(*backend, workload_by_name(c.workload),
                {.precision = precision, .batch = c.batch, .fused = fused, .sizes = c.sizes}),
        batch(random_batch(*backend, c)) {}

  double step() {
    trainer.step(*backend, batch);
    return trainer.loss();
  }

  std::unique_ptr<Backend> backend;
  Trainer trainer;
  Batch batch;
};

std::int64_t parameters_of(const std::string& name, const ModelSizes& sizes) {
  const Workload& workload = workload_by_name(name);
  return workload.make(workload, sizes)->layout().parameter_count();
}

TEST(Resnet, HasTheParametersOfItsTable) {
  EXPECT_EQ(parameters_of("resnet20", {}), 272474);
  EXPECT_EQ(parameters_of("resnet20", {{"channels", 1}}), 272474 - 2 * 9 * 16);
  EXPECT_EQ(parameters_of("resnet50", {}), 25557032);
}

/// A model in double with its loss, without a trainer.
struct Differentiated {
  Differentiated(const Case& c, bool fused)
      : model(workload_by_name(c.workload).make(workload_by_name(c.workload), c.sizes)),
        parameters(*backend, model->layout(), kFp64, 5),
        batch(random_batch(*backend, c)),
        state(allocate_step_state(*backend, {})),
        pass{*backend, MathMode::exact, fused} {
    model->allocate(*backend, {.batch = c.batch,
                               .compute = DType::f64,
                               .master = DType::f64,
                               .training = true,
                               .fused = fused});
  }

  double loss() {
    model->forward(pass, parameters, batch);
    model->loss(pass, batch, state);
    const std::vector<double> losses = read_values(*backend, model->losses());
    double sum = 0;
    for (const double one : losses) sum += one;
    return sum / static_cast<double>(losses.size());
  }
  std::vector<double> gradients() {
    loss();
    model->backward(pass, parameters);
    return read_values(*backend, parameters.gradients());
  }

  std::unique_ptr<Backend> backend = make_cpu_backend({.threads = 1});
  std::unique_ptr<Model> model;
  Parameters parameters;
  Batch batch;
  Tensor state;
  Pass pass;
};

/// Slopes at two steps, h and h / 2, differ by three quarters of the error of the first: what the
/// third derivative of a deep network is need not be known. A unit that ReLU switches between the
/// two makes a difference of order h too, so of all weights a few may be left out.
void expect_slopes(const Case& c) {
  constexpr double kStep = 0x1p-15;
  Differentiated run(c, true);
  const std::vector<double> gradient = run.gradients();
  const std::vector<double> weights = read_values(*run.backend, run.parameters.master());
  const auto loss = [&](const std::vector<double>& changed) {
    run.parameters.set(*run.backend, changed);
    return run.loss();
  };
  const std::vector<double> coarse = central_differences(weights, kStep, loss);
  const std::vector<double> fine = central_differences(weights, kStep / 2, loss);
  // A loss below 10 of a few hundred roundings.
  const double rounding = difference_tolerance(kStep / 2, 0, 500, 10);
  std::size_t compared = 0;
  double largest = 0;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double unsure = std::abs(coarse[i] - fine[i]);
    if (unsure > 1e-4) continue;
    ++compared;
    largest = std::max(largest, std::abs(gradient[i]));
    ASSERT_NEAR(gradient[i], fine[i], unsure + rounding) << "parameter " << i;
  }
  EXPECT_GT(compared, gradient.size() * 95 / 100);
  EXPECT_GT(largest, 1e-2);
}

TEST(Resnet, GradientOfResnet20IsTheSlopeOfTheMeanLoss) { expect_slopes(kTiny20); }
TEST(Resnet, GradientOfResnet50IsTheSlopeOfTheMeanLoss) { expect_slopes(kTiny50); }

// In double the two orders of rounding differ by some hundred u, which the norms of small batches
// magnify by one over their deviation a layer: eight digits are left of sixteen at the worst.
TEST(Resnet, FusedAndSeparatePassesAgree) {
  for (const Case& c : {kTiny20, kTiny50}) {
    Differentiated fused(c, true);
    Differentiated separate(c, false);
    EXPECT_NEAR(fused.loss(), separate.loss(), 1e-8);
    const std::vector<double> a = fused.gradients();
    const std::vector<double> b = separate.gradients();
    for (std::size_t i = 0; i < a.size(); ++i) ASSERT_NEAR(a[i], b[i], 1e-8) << c.workload;
  }
}

TEST(Resnet, LossFallsInEveryPrecision) {
  std::vector<double> last;
  for (const Precision& precision : {kFp32, kBf16, kFp16}) {
    TrainingRun run(kSmall20, precision, true, 2);
    const double first = run.step();
    double loss = first;
    for (int i = 0; i < 30; ++i) loss = run.step();
    EXPECT_LT(loss, 0.5 * first) << precision.name;
    last.push_back(loss);
  }
  // Learning by heart, all three come from log 10 to a small part of it: their curves differ by the
  // noise of 16-bit rounding, less than a fifth of the way.
  const double way = std::log(10.0);
  EXPECT_NEAR(last[1], last[0], 0.2 * way);
  EXPECT_NEAR(last[2], last[0], 0.2 * way);
}

TEST(Resnet, RepeatsBitForBitWithEqualThreads) {
  for (const int threads : {1, 2}) {
    TrainingRun one(kSmall20, kFp32, true, threads);
    TrainingRun two(kSmall20, kFp32, true, threads);
    for (int i = 0; i < 3; ++i) ASSERT_EQ(one.step(), two.step()) << threads;
  }
}

TEST(Resnet, AllocatesNothingAfterTheFirstStep) {
  for (const Precision& precision : {kFp32, kBf16}) {
    TrainingRun run(kSmall20, precision, true, 2);
    run.step();
    const MemoryUse before = run.backend->memory();
    run.step();
    EXPECT_EQ(run.backend->memory().allocations, before.allocations);
    EXPECT_EQ(run.backend->memory().total(), before.total());
  }
}

TEST(Resnet, PlansTheMemoryThatTheCpuHolds) {
  for (const bool fused : {true, false}) {
    const TrainerOptions options{
        .precision = kBf16, .batch = kSmall20.batch, .fused = fused, .sizes = kSmall20.sizes};
    CostBackend plan({.relu_bits = 8, .relu_row_bits = 8});
    Trainer planned(plan, workload_by_name("resnet20"), options);
    const std::unique_ptr<Backend> cpu = make_cpu_backend({.threads = 1});
    Trainer real(*cpu, workload_by_name("resnet20"), options);
    for (const MemoryKind kind : kMemoryKinds) {
      EXPECT_EQ(plan.memory()[kind], cpu->memory()[kind]) << name_of(kind);
    }
  }
}

// Multiply-adds of the forward pass as published: 40.55 million for resnet20 without its 1x1
// shortcuts (0.26 million), 4,089 million for resnet50 (v1.5), for an image each. A step does them
// three times but for the first layer's input gradient.
TEST(Resnet, NeedsThePublishedFlops) {
  const std::pair<std::string, double> cases[] = {{"resnet20", 40.55e6 + 0.262e6},
                                                  {"resnet50", 4.089e9}};
  for (const auto& [name, multiplications] : cases) {
    CostBackend cost;
    const Workload& workload = workload_by_name(name);
    Trainer trainer(cost, workload, {.batch = 2});
    const SizeReader sizes(workload, {});
    const std::int64_t image = sizes.get("image");
    const std::int64_t channels = sizes.get("channels");
    cost.reset();
    const Batch batch{ConstTensor(nullptr, Shape{2, image, image, channels}, DType::u8),
                      ConstTensor(nullptr, Shape{2}, DType::i32)};
    trainer.step(cost, batch);
    const double stem = name == "resnet20" ? 32.0 * 32 * 27 * 16 : 112.0 * 112 * 147 * 64;
    const double expected = 2 * 2 * (3 * multiplications - stem);
    EXPECT_NEAR(cost.total().flops, expected, 2e-3 * expected) << name;
  }
}

}  // namespace
}  // namespace trainbench
