#pragma once

#include <cstdint>
#include <vector>

#include "common/core/philox.h"
#include "common/models/workload.h"
#include "common/nn/trainer.h"

namespace trainbench {

/// A small MLP on made-up images, the same bits on every device.
struct SmallTraining {
  std::int64_t inputs = 64;
  std::int64_t hidden = 96;
  std::int64_t classes = 10;
  std::int64_t batch = 32;
  Precision precision = kFp32;
  bool fused = true;

  Trainer make(Backend& backend) const {
    return Trainer(backend, workload_by_name("mlp"),
                   {.precision = precision,
                    .batch = batch,
                    .seed = 1,
                    .fused = fused,
                    .sizes = {{"inputs", inputs}, {"hidden", hidden}, {"classes", classes}}});
  }

  std::vector<std::uint8_t> host_samples(std::uint64_t index) const {
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(batch * inputs));
    const Philox random(2, index);
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      bytes[i] = static_cast<std::uint8_t>(random.word(i) >> 24);
    }
    return bytes;
  }

  /// A class's images are brighter in its own part, so that there is something to learn.
  Batch batch_on(Backend& backend, std::uint64_t index) const {
    std::vector<std::uint8_t> samples = host_samples(index);
    std::vector<std::int32_t> labels(static_cast<std::size_t>(batch));
    const Philox random(3, index);
    for (std::size_t row = 0; row < labels.size(); ++row) {
      labels[row] = static_cast<std::int32_t>(random.word(row) % static_cast<unsigned>(classes));
      for (std::int64_t i = labels[row]; i < inputs; i += classes) {
        samples[row * static_cast<std::size_t>(inputs) + static_cast<std::size_t>(i)] |= 0x80;
      }
    }
    const Tensor x = backend.allocate(Shape{batch, inputs}, DType::u8, MemoryKind::workspace);
    const Tensor y = backend.allocate(Shape{batch}, DType::i32, MemoryKind::workspace);
    backend.copy_from_host(x, samples.data());
    backend.copy_from_host(y, labels.data());
    return {x, y};
  }

  /// Losses of `steps` steps over four batches in turn.
  std::vector<double> losses(Backend& backend, int steps) const {
    Trainer trainer = make(backend);
    std::vector<Batch> batches;
    for (std::uint64_t i = 0; i < 4; ++i) batches.push_back(batch_on(backend, i));
    std::vector<double> curve;
    for (int step = 0; step < steps; ++step) {
      trainer.step(backend, batches[static_cast<std::size_t>(step) % batches.size()]);
      curve.push_back(trainer.loss());
    }
    return curve;
  }
};

}  // namespace trainbench
