#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "common/data/loader.h"

namespace trainbench::testing {

/// What reached the device of a batch.
struct HostBatch {
  std::vector<std::uint8_t> samples;
  std::vector<std::int32_t> labels;
};

inline HostBatch read_back(Backend& backend, const Batch& batch) {
  HostBatch host;
  host.samples.resize(batch.samples.bytes());
  host.labels.resize(static_cast<std::size_t>(batch.labels.elements()));
  backend.copy_to_host(host.samples.data(), batch.samples);
  backend.copy_to_host(host.labels.data(), batch.labels);
  return host;
}

/// Expects batch `index` of the first epoch, sample by sample from the data set.
inline void expect_batch(const Dataset& data, std::uint64_t seed, std::size_t index,
                         const HostBatch& batch) {
  const std::vector<std::uint32_t> order = epoch_order(data.train.size(), seed, 0);
  const auto bytes = static_cast<std::size_t>(data.sample_bytes());
  const std::size_t count = batch.labels.size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t sample = order[index * count + i];
    ASSERT_EQ(batch.labels[i], data.train.labels[sample]) << "batch " << index << ", row " << i;
    ASSERT_EQ(std::memcmp(batch.samples.data() + i * bytes,
                          data.train.samples.data() + sample * bytes, bytes),
              0)
        << "batch " << index << ", row " << i;
  }
}

/// Batches through a backend's own channel and into its memory arrive byte for byte, also while the
/// consumer enqueues work on them and does not wait.
inline void expect_loader_delivers(Backend& backend) {
  constexpr std::uint64_t kSeed = 3;
  constexpr std::int64_t kBatch = 25;  // neither samples nor labels end at an aligned address
  constexpr std::size_t kBatches = 12;
  const Dataset data = make_synthetic_dataset("images28", 1, {.train = 300, .test = 1});

  // Copies on the device are all enqueued before any is looked at.
  std::vector<Batch> kept;
  {
    Loader loader(backend, BatchSource(data, kBatch, kSeed));
    for (std::size_t i = 0; i < kBatches; ++i) {
      const Batch batch = loader.next();
      const Tensor samples =
          backend.allocate(batch.samples.shape, DType::u8, MemoryKind::workspace);
      const Tensor labels = backend.allocate(batch.labels.shape, DType::i32, MemoryKind::workspace);
      backend.copy(batch.samples, samples);
      backend.copy(batch.labels, labels);
      kept.push_back({samples, labels});
    }
    backend.synchronize();
  }
  for (std::size_t i = 0; i < kBatches; ++i) {
    expect_batch(data, kSeed, i, read_back(backend, kept[i]));
  }

  BatchSource source(data, kBatch, kSeed);
  const std::vector<Batch> resident = make_resident_batches(backend, source, 3);
  ASSERT_EQ(resident.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    expect_batch(data, kSeed, i, read_back(backend, resident[i]));
  }
}

}  // namespace trainbench::testing
