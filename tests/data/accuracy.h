#pragma once

#include <algorithm>
#include <cstring>

#include "common/data/loader.h"
#include "common/models/workload_data.h"
#include "common/nn/trainer.h"

namespace trainbench {

/// Divides the sets, so that no sample is left out.
inline constexpr std::int64_t kBatch = 250;

/// The test samples that the trainer's network puts into the right class, of all.
inline double test_accuracy(Backend& backend, Trainer& trainer, const Dataset& data) {
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

/// Accuracy on the test set after so many steps of training.
inline double accuracy_after(Backend& backend, const Workload& workload, const Precision& precision,
                             const ModelSizes& sizes, const Dataset& data, std::int64_t steps) {
  Trainer trainer(backend, workload,
                  {.precision = precision,
                   .batch = kBatch,
                   .seed = 1,
                   .sizes = sizes_for(workload, sizes, data)});
  const BatchSource source(data, kBatch, 1);
  Loader loader(backend, source);
  for (std::int64_t step = 0; step < steps; ++step) trainer.step(backend, loader.next());
  return test_accuracy(backend, trainer, data);
}

}  // namespace trainbench
