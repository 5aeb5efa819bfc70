#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>
#include <vector>

#include "common/core/philox.h"
#include "common/host_values.h"
#include "common/nn/trainer.h"
#include "cpu/cpu_backend.h"
#include "cpu/providers.h"
#include "tests/cpu/heap_counter.h"

namespace trainbench {
namespace {

constexpr std::int64_t kBatch = 48;

/// A small MLP and a batch of random bytes.
struct MlpRun {
  MlpRun(int threads, const std::string& provider, const Precision& precision)
      : backend(make_cpu_backend({threads, provider})),
        trainer(*backend, workload_by_name("mlp"),
                {.precision = precision, .batch = kBatch, .sizes = {{"hidden", 150}}}) {
    const Tensor samples =
        backend->allocate(Shape{kBatch, 28, 28, 1}, DType::u8, MemoryKind::workspace);
    const Tensor labels = backend->allocate(Shape{kBatch}, DType::i32, MemoryKind::workspace);
    const Philox random(11, 0);
    std::vector<double> bytes(static_cast<std::size_t>(samples.elements()));
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = random.word(i) % 256;
    write_values(*backend, samples, bytes);
    std::vector<double> classes(kBatch);
    for (std::size_t i = 0; i < classes.size(); ++i) classes[i] = random.word(i) % 10;
    write_values(*backend, labels, classes);
    batch = {samples, labels};
  }

  double step() {
    trainer.step(*backend, batch);
    return trainer.loss();
  }

  std::unique_ptr<Backend> backend;
  Trainer trainer;
  Batch batch;
};

std::vector<std::string> provider_names() {
  std::vector<std::string> names;
  for (const auto& [name, version] : cpu_providers()) names.push_back(name);
  return names;
}

std::size_t threads_of_this_process() {
  const std::filesystem::directory_iterator tasks("/proc/self/task");
  return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

// Defined first: the process has no worker thread yet.
TEST(CpuStep, UsesAsManyThreadsAsItWasGiven) {
  const std::size_t before = threads_of_this_process();
  MlpRun(1, "eigen", kFp32).step();
  EXPECT_EQ(threads_of_this_process(), before);
  MlpRun(3, "eigen", kFp32).step();
  EXPECT_EQ(threads_of_this_process(), before + 2);
}

TEST(CpuStep, LossFallsInEveryPrecisionByEveryProvider) {
  for (const Precision& precision : {kFp64, kFp32, kBf16, kFp16}) {
    for (const std::string& provider : provider_names()) {
      SCOPED_TRACE(provider + " " + std::string(precision.name));
      MlpRun run(2, provider, precision);
      try {
        const double first = run.step();
        double last = first;
        for (int i = 0; i < 12; ++i) last = run.step();
        EXPECT_LT(last, 0.9 * first);
      } catch (const Unsupported&) {
        EXPECT_EQ(precision, kFp64) << "a library may leave out double alone";
      }
    }
  }
}

TEST(CpuStep, RepeatsBitForBitWithEqualThreads) {
  for (const int threads : {1, 3}) {
    for (const std::string& provider : provider_names()) {
      SCOPED_TRACE(provider + " on " + std::to_string(threads));
      MlpRun one(threads, provider, kFp32);
      MlpRun two(threads, provider, kFp32);
      for (int i = 0; i < 8; ++i) ASSERT_EQ(one.step(), two.step()) << "step " << i;
      EXPECT_EQ(read_values(*one.backend, one.trainer.parameters().master()),
                read_values(*two.backend, two.trainer.parameters().master()));
    }
  }
}

TEST(CpuStep, AllocatesNothingAfterTheFirst) {
  for (const Precision& precision : {kFp32, kFp16}) {
    for (const std::string& provider : provider_names()) {
      SCOPED_TRACE(provider + " " + std::string(precision.name));
      MlpRun run(2, provider, precision);
      run.step();
      const MemoryUse before = run.backend->memory();
      const std::int64_t heap_before = heap_allocations();
      run.trainer.step(*run.backend, run.batch);
      // oneDNN allocates small records of its own; nobody else touches the heap.
      if (provider != "onednn") {
        EXPECT_EQ(heap_allocations(), heap_before);
      }
      EXPECT_EQ(run.backend->memory().allocations, before.allocations);
      EXPECT_EQ(run.backend->memory().total(), before.total());
    }
  }
}

TEST(CpuStep, RecordedStepReplays) {
  MlpRun plain(2, "eigen", kFp32);
  MlpRun recorded(2, "eigen", kFp32);
  const auto recording =
      recorded.backend->record([&] { recorded.trainer.step(*recorded.backend, recorded.batch); });
  EXPECT_EQ(recorded.trainer.state().step, 0);
  for (int i = 0; i < 3; ++i) {
    recording->replay();
    EXPECT_EQ(recorded.trainer.loss(), plain.step());
  }
  EXPECT_EQ(recorded.trainer.state().step, 3);
}

TEST(CpuChannel, AHostSlotWaitsForItsReader) {
  const auto backend = make_cpu_backend({1, "eigen"});
  const auto channel = backend->make_channel(16, 2);
  channel->host(0)[3] = std::byte{42};
  channel->send(0);
  const Tensor received = channel->receive(0);

  std::atomic<bool> filled{false};
  std::thread loader([&] {
    channel->host(0)[3] = std::byte{7};
    filled = true;
  });
  channel->host(1);  // the other slot is free all the while
  EXPECT_EQ(read_values(*backend, received)[3], 42);
  EXPECT_FALSE(filled);
  channel->release(0);
  loader.join();
  EXPECT_EQ(read_values(*backend, channel->receive(0))[3], 7);
}

}  // namespace
}  // namespace trainbench
