#include "common/models/language_model_plan.h"

#include <gtest/gtest.h>

#include "common/models/workload_cost.h"

namespace trainbench {
namespace {

double flops_of(const std::vector<OperationCost>& operations) {
  double sum = 0;
  for (const OperationCost& each : operations) sum += each.cost.flops;
  return sum;
}

// The workload gpt2 in GPT-3's sizes is the same model, made of layers.
TEST(LanguageModelPlan, AgreesWithTheModelThatIsTrainedHere) {
  const LanguageModel& model = language_models().front();
  ASSERT_EQ(model.name, "gpt3-175b");
  const LanguageModelPlan plan = plan_language_model(model, kBf16);
  const StepCost built = count_step({&workload_by_name("gpt2"),
                                     {{"layers", model.layers},
                                      {"width", model.width},
                                      {"heads", model.heads},
                                      {"sequence", model.sequence},
                                      {"vocabulary", model.vocabulary}},
                                     1,
                                     kBf16});
  EXPECT_EQ(plan.parameters, built.parameters);
  EXPECT_EQ(flops_of(plan.sequence) + flops_of(plan.update), built.total.flops);
  double bytes = 0;
  for (const auto* part : {&plan.sequence, &plan.update}) {
    for (const OperationCost& each : *part) bytes += each.cost.bytes;
  }
  EXPECT_NEAR(bytes / built.total.bytes, 1, 0.02);
  for (const MemoryKind kind : {MemoryKind::parameters, MemoryKind::gradients,
                                MemoryKind::optimizer, MemoryKind::activations}) {
    EXPECT_NEAR(static_cast<double>(plan.memory[kind]) / static_cast<double>(built.memory[kind]), 1,
                0.02)
        << name_of(kind);
  }
}

// By hand: attention w (2 w + 2 kv), perceptron 3 w hidden, two gains a layer; the last gain, two
// tables.
TEST(LanguageModelPlan, CountsSharedKeysAndAGatedPerceptron) {
  const LanguageModel& model = language_models().back();
  ASSERT_EQ(model.name, "llama-70b");
  const std::int64_t w = 8192;
  const std::int64_t layer = w * (2 * w + 2 * 1024) + 3 * w * 28672 + 2 * w;
  const LanguageModelPlan plan = plan_language_model(model, kBf16);
  EXPECT_EQ(plan.parameters, 80 * layer + w + 2 * 32000 * w);
  EXPECT_EQ(plan.parameters, 68976648192);  // as its weights' files have
  // 6 a parameter and token but for the table that is looked up and the gains; causal attention.
  const double t = 4096;
  const double multiplied = 80.0 * static_cast<double>(layer - 2 * w) + 32000.0 * w;
  const double attention = 80 * 6 * 2.0 * w * t * (t + 1) / 2;
  EXPECT_DOUBLE_EQ(flops_of(plan.sequence), 6 * t * multiplied + attention);
  EXPECT_EQ(plan.memory[MemoryKind::optimizer], 8u * 68976648192u);
  EXPECT_EQ(plan.memory[MemoryKind::parameters], 6u * 68976648192u);
}

}  // namespace
}  // namespace trainbench
