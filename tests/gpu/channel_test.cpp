#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "common/data/dataset.h"
#include "common/data/loader.h"
#include "common/host_values.h"
#include "gpu/cuda_backend.h"
#include "tests/gpu/small_training.h"

// Whether copies and computing wait for each other. A missing event shows when the simulator runs
// ready streams in random order (--seed), and on a device under load.

namespace trainbench {
namespace {

constexpr int kSlots = 2;
constexpr int kRounds = 24;

// Every slot is read after it was filled and before it is filled again.
TEST(Channel, ComputingSeesEachBatchAsItWasSent) {
  constexpr std::int64_t kBytes = 4096;
  const auto backend = make_cuda_backend();
  const auto channel = backend->make_channel(kBytes, kSlots);
  const Tensor seen =
      backend->allocate(Shape{kRounds, kBytes}, DType::f32, MemoryKind::activations);
  for (int round = 0; round < kRounds; ++round) {
    const int slot = round % kSlots;
    std::memset(channel->host(slot), 1 + round, kBytes);
    channel->send(slot);
    const Tensor batch = channel->receive(slot);
    backend->normalize_bytes(batch, seen.range(round * kBytes, kBytes), 1, 0);
    channel->release(slot);
  }
  const std::vector<double> values = read_values(*backend, seen);
  for (int round = 0; round < kRounds; ++round) {
    for (std::int64_t i = 0; i < kBytes; ++i) {
      ASSERT_EQ(values[static_cast<std::size_t>(round * kBytes + i)], 1 + round)
          << "byte " << i << " of batch " << round;
    }
  }
}

/// Losses and weights after steps whose batches come through `receive(step)`.
template <class Receive, class Release>
std::vector<double> train(Backend& backend, const SmallTraining& training, Receive receive,
                          Release release) {
  Trainer trainer = training.make(backend);
  std::vector<double> values;
  for (int step = 0; step < kRounds; ++step) {
    trainer.step(backend, receive(step));
    release(step);
  }
  values = read_values(backend, trainer.parameters().master());
  values.push_back(trainer.loss());
  return values;
}

// Asynchronous steps, in whatever order the streams run, give the bits of steps that wait for
// everything: so all orders give the same.
TEST(Channel, AsynchronousTrainingGivesTheBitsOfOneThatWaits) {
  for (const Precision& precision : {kFp32, kFp16}) {
    const SmallTraining training{.precision = precision};
    const auto waiting = make_cuda_backend();
    const Tensor batch = waiting->allocate(Shape{static_cast<std::int64_t>(training.batch_bytes())},
                                           DType::u8, MemoryKind::workspace);
    std::vector<std::byte> host(training.batch_bytes());
    const std::vector<double> expected = train(
        *waiting, training,
        [&](int step) {
          training.fill(host.data(), static_cast<std::uint64_t>(step));
          waiting->copy_from_host(batch, host.data());
          return training.view(batch.data);
        },
        [&](int) { waiting->synchronize(); });

    const auto backend = make_cuda_backend();
    const auto channel = backend->make_channel(training.batch_bytes(), kSlots);
    const std::vector<double> values = train(
        *backend, training,
        [&](int step) {
          const int slot = step % kSlots;
          training.fill(channel->host(slot), static_cast<std::uint64_t>(step));
          channel->send(slot);
          return training.view(channel->receive(slot).data);
        },
        [&](int step) { channel->release(step % kSlots); });
    EXPECT_EQ(values, expected) << precision.name;
  }
}

// The loader's thread sends while this one computes.
TEST(Channel, TheLoaderFeedsTraining) {
  const auto backend = make_cuda_backend();
  const Dataset dataset = make_synthetic_dataset("images28", 3, {.train = 64, .test = 16});
  constexpr std::int64_t kBatch = 16;
  Loader loader(*backend, BatchSource(dataset, kBatch, 5));
  BatchSource same(dataset, kBatch, 5);
  std::vector<std::byte> host(same.layout().bytes());
  for (int round = 0; round < 8; ++round) {
    const Batch batch = loader.next();
    same.fill_next(host.data());
    std::vector<std::byte> received(batch.samples.bytes());
    backend->copy_to_host(received.data(), batch.samples);
    ASSERT_EQ(std::memcmp(received.data(), host.data(), received.size()), 0) << round;
  }
}

}  // namespace
}  // namespace trainbench
