#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <vector>

#include "common/data/loader.h"
#include "common/nn/trainer.h"
#include "cpu/cpu_backend.h"

namespace trainbench {

/// Mean loss of the last 50 of `steps` steps on Fashion-MNIST.
inline double diffusion_loss_after(const ModelSizes& sizes, int steps) {
  constexpr std::int64_t kBatch = 16;
  constexpr int kLast = 50;
  const Dataset data = load_dataset("images32", "", 1);
  const auto backend = make_cpu_backend({});
  Trainer trainer(*backend, workload_by_name("diffusion"),
                  {.batch = kBatch, .seed = 1, .sizes = sizes});
  const BatchSource source(data, kBatch, 1);
  Loader loader(*backend, source);
  std::vector<double> losses;
  for (int step = 0; step < steps; ++step) {
    trainer.step(*backend, loader.next());
    losses.push_back(trainer.loss());
  }
  return std::accumulate(losses.end() - kLast, losses.end(), 0.0) / kLast;
}

class DiffusionLearning : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(fashion_mnist_folder())) {
      GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
    }
  }
};

}  // namespace trainbench
