#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "common/core/philox.h"
#include "common/models/workload.h"
#include "common/nn/trainer.h"

namespace trainbench {

/// A small model on made-up images, the same bits on every device: an MLP unless `workload` and the
/// sizes of its model say otherwise.
struct SmallTraining {
  std::int64_t inputs = 64;
  std::int64_t hidden = 96;
  std::int64_t classes = 10;
  std::int64_t batch = 32;
  Precision precision = kFp32;
  bool fused = true;
  std::string_view workload = "mlp";
  ModelSizes sizes = {};  ///< empty: the MLP's, as above
  int layers = 3;         ///< from the images to the logits

  static constexpr std::uint64_t kBatches = 4;

  Trainer make(Backend& backend) const {
    return Trainer(backend, workload_by_name(workload),
                   {.precision = precision,
                    .batch = batch,
                    .seed = 1,
                    .fused = fused,
                    .sizes = sizes.empty() ? mlp_sizes() : sizes});
  }
  ModelSizes mlp_sizes() const {
    return {{"inputs", inputs}, {"hidden", hidden}, {"classes", classes}};
  }

  std::size_t sample_bytes() const { return static_cast<std::size_t>(batch * inputs); }
  std::size_t batch_bytes() const {
    return sample_bytes() + static_cast<std::size_t>(batch) * sizeof(std::int32_t);
  }

  /// Samples, then labels. A class's images are brighter in its own part: there is something to
  /// learn.
  void fill(std::byte* to, std::uint64_t index) const {
    const Philox pixels(2, index);
    const Philox classes_of(3, index);
    auto* const samples = reinterpret_cast<std::uint8_t*>(to);
    auto* const labels = reinterpret_cast<std::int32_t*>(to + sample_bytes());
    for (std::int64_t row = 0; row < batch; ++row) {
      const auto r = static_cast<std::uint64_t>(row);
      labels[row] =
          static_cast<std::int32_t>(classes_of.word(r) % static_cast<std::uint32_t>(classes));
      for (std::int64_t i = 0; i < inputs; ++i) {
        const std::int64_t at = row * inputs + i;
        const std::uint32_t noise = pixels.word(static_cast<std::uint64_t>(at)) >> 24;
        const bool own = i % classes == labels[row];
        samples[at] = static_cast<std::uint8_t>(own ? noise | 0x80u : noise);
      }
    }
  }

  /// A batch that lies at `data`, in device memory.
  Batch view(const void* data) const {
    const auto* const bytes = static_cast<const std::byte*>(data);
    return {.samples = ConstTensor(bytes, Shape{batch, inputs}, DType::u8),
            .labels = ConstTensor(bytes + sample_bytes(), Shape{batch}, DType::i32)};
  }

  std::vector<Batch> resident_batches(Backend& backend) const {
    std::vector<Batch> batches;
    std::vector<std::byte> host(batch_bytes());
    for (std::uint64_t index = 0; index < kBatches; ++index) {
      fill(host.data(), index);
      const Tensor device = backend.allocate(Shape{static_cast<std::int64_t>(host.size())},
                                             DType::u8, MemoryKind::workspace);
      backend.copy_from_host(device, host.data());
      batches.push_back(view(device.data));
    }
    return batches;
  }
};

}  // namespace trainbench
