#include "tests/data/accuracy.h"

#include <gtest/gtest.h>

#include "cpu/cpu_backend.h"

namespace trainbench {
namespace {

double accuracy_after_epochs(const std::string& workload, const ModelSizes& sizes,
                             const Dataset& data, std::int64_t epochs) {
  const auto backend = make_cpu_backend({});
  return accuracy_after(*backend, workload_by_name(workload), kFp32, sizes, data,
                        epochs * data.train.size() / kBatch);
}

TEST(Accuracy, MlpLearnsFashionMnistInTwoEpochs) {
  if (!std::filesystem::exists(fashion_mnist_folder())) {
    GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  }
  const Dataset data = load_dataset("images28", "", 1);
  ASSERT_EQ(data.test.size() % kBatch, 0);
  ASSERT_EQ(data.train.size() % kBatch, 0);
  EXPECT_GE(accuracy_after_epochs("mlp", {}, data, 2), 0.85);
}

// The set that is always there: a tenth of it is enough to learn.
TEST(Accuracy, MlpLearnsTheSyntheticSet) {
  const Dataset data = make_synthetic_dataset("images28", 1, {.train = 6000, .test = 1000});
  EXPECT_GE(accuracy_after_epochs("mlp", {}, data, 2), 0.95);
}

// A narrow one on a tenth of the images; guessing gives 0.1, and six epochs 0.74, whichever library
// rounds. After four the running statistics still lag: 0.3 to 0.6.
TEST(Accuracy, ANarrowResnetLearnsFashionMnist) {
  if (!std::filesystem::exists(fashion_mnist_folder())) {
    GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  }
  Dataset data = load_dataset("images32", "", 1);
  const auto shorten = [&](SampleSet& set, std::int64_t count) {
    set.samples.resize(static_cast<std::size_t>(count * data.sample_bytes()));
    set.labels.resize(static_cast<std::size_t>(count));
    set.count = count;
  };
  shorten(data.train, 6000);
  shorten(data.test, 1000);
  const ModelSizes sizes{{"width", 8}, {"blocks1", 1}, {"blocks2", 1}, {"blocks3", 1}};
  EXPECT_GE(accuracy_after_epochs("resnet20", sizes, data, 6), 0.6);
}

}  // namespace
}  // namespace trainbench
