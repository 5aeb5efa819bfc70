// The whole of resnet20 on the whole of Fashion-MNIST: some minutes.

#include <gtest/gtest.h>

#include "cpu/cpu_backend.h"
#include "tests/data/accuracy.h"

namespace trainbench {
namespace {

TEST(Accuracy, Resnet20LearnsFashionMnistInFourEpochs) {
  if (!std::filesystem::exists(fashion_mnist_folder())) {
    GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  }
  const Dataset data = load_dataset("images32", "", 1);
  const auto backend = make_cpu_backend({});
  const Workload& workload = workload_by_name("resnet20");
  EXPECT_GE(accuracy_after(*backend, workload, kBf16, {}, data, 4 * data.train.size() / kBatch),
            0.90);
}

}  // namespace
}  // namespace trainbench
