#include "common/models/workload.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace trainbench {
namespace {

TEST(Workloads, AreFoundByTheirNames) {
  std::set<std::string_view> names;
  for (const Workload& workload : workloads()) {
    EXPECT_EQ(&workload_by_name(workload.name), &workload);
    EXPECT_TRUE(names.insert(workload.name).second) << workload.name << " is there twice";
  }
}

TEST(Workloads, AnUnknownNameListsTheKnownOnes) {
  try {
    workload_by_name("mpl");
    FAIL() << "mpl was taken";
  } catch (const InputError& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find("unknown workload \"mpl\"; one of "), 0u) << message;
    EXPECT_NE(message.find("mlp"), std::string::npos) << message;
  }
}

TEST(Workloads, MakeAModelOfTheirDefaultSizes) {
  for (const Workload& workload : workloads()) {
    const std::unique_ptr<Model> model = workload.make(workload, {});
    EXPECT_GT(model->layout().parameter_count(), 0) << workload.name;
    EXPECT_GT(workload.default_batch, 0) << workload.name;
    EXPECT_GT(workload.learning_rate, 0) << workload.name;
  }
}

// Byte 0.2860 * 255 is the mean of Fashion-MNIST's pixels and 0.3530 * 255 their deviation.
TEST(Workloads, ThePixelsOfTheMlpAreStandardized) {
  const Workload& mlp = workload_by_name("mlp");
  EXPECT_NEAR(0.2860f * 255 * mlp.input_scale + mlp.input_shift, 0, 1e-6);
  EXPECT_NEAR(0.3530f * 255 * mlp.input_scale, 1, 1e-6);
}

}  // namespace
}  // namespace trainbench
