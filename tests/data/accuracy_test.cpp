#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "common/data/loader.h"
#include "common/nn/trainer.h"
#include "cpu/cpu_backend.h"

namespace trainbench {
namespace {

constexpr std::int64_t kBatch = 250;  // divides both sets, so that no sample is left out

/// The test samples that the trainer's network puts into the right class, of all.
double test_accuracy(Backend& backend, Trainer& trainer, const Dataset& data) {
  const BatchLayout layout(data, kBatch);
  const auto bytes = static_cast<std::size_t>(data.sample_bytes());
  const Tensor device = backend.allocate(Shape{static_cast<std::int64_t>(layout.bytes())},
                                         DType::u8, MemoryKind::workspace);
  std::vector<std::byte> host(layout.bytes());
  std::int64_t correct = 0;
  for (std::int64_t first = 0; first < data.test.size(); first += kBatch) {
    const auto start = data.test.labels.begin() + first;
    const std::vector<std::int32_t> labels(start, start + kBatch);
    std::memcpy(host.data(), data.test.samples.data() + static_cast<std::size_t>(first) * bytes,
                kBatch * bytes);
    std::memcpy(host.data() + layout.label_offset(), labels.data(), kBatch * sizeof(std::int32_t));
    backend.copy_from_host(device, host.data());
    trainer.evaluate(backend, layout.view(device.data));
    correct += trainer.correct(labels);
  }
  return static_cast<double>(correct) / static_cast<double>(data.test.size());
}

double accuracy_after(Backend& backend, const Dataset& data, int epochs) {
  const Workload& workload = workload_by_name("mlp");
  Trainer trainer(backend, workload, {.precision = kFp32, .batch = kBatch, .seed = 1});
  const BatchSource source(data, kBatch, 1);
  Loader loader(backend, source);
  const std::int64_t steps = epochs * source.batches_per_epoch();
  for (std::int64_t step = 0; step < steps; ++step) trainer.step(backend, loader.next());
  return test_accuracy(backend, trainer, data);
}

TEST(Accuracy, MlpLearnsFashionMnistInTwoEpochs) {
  if (!std::filesystem::exists(fashion_mnist_folder())) {
    GTEST_SKIP() << "the package dataset-fashion-mnist is not installed";
  }
  const Dataset data = load_dataset("images28", "", 1);
  ASSERT_EQ(data.test.size() % kBatch, 0);
  ASSERT_EQ(data.train.size() % kBatch, 0);
  const auto backend = make_cpu_backend({});
  EXPECT_GE(accuracy_after(*backend, data, 2), 0.85);
}

// The set that is always there: a tenth of it is enough to learn.
TEST(Accuracy, MlpLearnsTheSyntheticSet) {
  const Dataset data = make_synthetic_dataset("images28", 1, {.train = 6000, .test = 1000});
  const auto backend = make_cpu_backend({});
  EXPECT_GE(accuracy_after(*backend, data, 2), 0.95);
}

}  // namespace
}  // namespace trainbench
