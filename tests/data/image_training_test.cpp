// Whole networks on the whole of Fashion-MNIST: trainings of some minutes.

#include <gtest/gtest.h>

#include <cstdio>

#include "cpu/cpu_backend.h"
#include "tests/data/accuracy.h"

namespace trainbench {
namespace {

class ImageTraining : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(fashion_mnist_folder())) {
      GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
    }
  }

  static double accuracy(const char* name, const char* images, const Precision& precision,
                         std::int64_t epochs) {
    const Dataset data = load_dataset(images, "", 1);
    const auto backend = make_cpu_backend({});
    const double share = accuracy_after(*backend, workload_by_name(name), precision, {}, data,
                                        epochs * data.train.size() / kBatch);
    std::printf("%s: %.4f of the test set after %d epochs\n", name, share,
                static_cast<int>(epochs));
    return share;
  }
};

TEST_F(ImageTraining, MlpReaches88PercentInEightEpochs) {
  EXPECT_GE(accuracy("mlp", "images28", kFp32, 8), 0.88);
}

TEST_F(ImageTraining, Resnet20Reaches90PercentInFourEpochs) {
  EXPECT_GE(accuracy("resnet20", "images32", kBf16, 4), 0.90);
}

}  // namespace
}  // namespace trainbench
