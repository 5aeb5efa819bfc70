#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "common/core/philox.h"
#include "common/host_values.h"
#include "common/nn/trainer.h"

namespace trainbench {

/// A workload made small, and what its training errs by.
struct SmallModel {
  std::string name;
  std::int64_t batch;
  ModelSizes sizes;
  double depth = 0;     ///< matrix products and nonlinearities that an activation passes, about
  double terms = 0;     ///< of the longest sum
  bool kinked = false;  ///< has ReLU or a maximum, whose derivatives jump
  std::int64_t classes = 0;  ///< of labelled images; else 0

  /// Images [b, h, w, c], or windows of tokens [b, t + 1].
  Shape samples() const {
    if (sizes.contains("sequence")) return {batch, sizes.at("sequence") + 1};
    if (sizes.contains("inputs")) return {batch, sizes.at("inputs")};
    return {batch, sizes.at("image"), sizes.at("image"), sizes.at("channels")};
  }

  /// Relative error of an activation: of each operation that it passes, the rounding of what it
  /// stores and the standard deviation of its sums; tf32 cuts both operands of every product
  /// besides. Two devices err.
  double activation_error(const Precision& precision) const {
    return 2 * depth *
           (unit_roundoff(precision.compute) + 2 * operand_error(precision.math) +
            std::sqrt(terms) * unit_roundoff(precision.master));
  }

  /// Relative error, in norm, of a gradient. Where a derivative jumps, of activations about normal
  /// those closer to the jump than their error may lie on its other side: 2 phi(0) < 0.8 of the
  /// error is their share. A gradient meets a jump at every other operation, with errors that grow
  /// from the first to the last: the shares add up to 0.2 depth error, of the squared norm.
  double gradient_error(const Precision& precision) const {
    const double error = activation_error(precision);
    return kinked ? error + std::sqrt(0.2 * depth * error) : error;
  }
};

/// The training of a small model on one batch, the same on every device.
struct SmallModelTraining {
  SmallModelTraining(Backend& device, const SmallModel& model, const Precision& precision,
                     bool fused)
      : backend(device),
        trainer(
            device, workload_by_name(model.name),
            {.precision = precision, .batch = model.batch, .fused = fused, .sizes = model.sizes}) {
    const Shape shape = model.samples();
    const bool tokens = model.sizes.contains("sequence");
    // What a vocabulary of more than a byte's values comes as.
    const bool wide = tokens && model.sizes.contains("vocabulary");
    const Tensor samples =
        device.allocate(shape, wide ? DType::i32 : DType::u8, MemoryKind::workspace);
    batch.samples = samples;
    std::vector<double> labels;
    for (std::int64_t i = 0; i < model.batch && model.classes > 0; ++i) {
      labels.push_back(static_cast<double>(i * i % model.classes));
    }
    const Philox random(2, 0);
    std::vector<double> values;
    const std::int64_t per_sample = shape.elements() / model.batch;
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      if (tokens) {
        values.push_back(static_cast<double>(i * i % 89));
        continue;
      }
      // A class's images are brighter in its own part: there is something to learn.
      const std::uint32_t noise = random.word(static_cast<std::uint64_t>(i)) >> 24;
      const bool own = model.classes > 0 &&
                       i % model.classes == static_cast<std::int64_t>(
                                                labels[static_cast<std::size_t>(i / per_sample)]);
      values.push_back(own ? noise | 0x80u : noise);
    }
    write_values(device, samples, values);
    if (labels.empty()) return;
    const Tensor classes = device.allocate(Shape{model.batch}, DType::i32, MemoryKind::workspace);
    write_values(device, classes, labels);
    batch.labels = classes;
  }
  double step() {
    trainer.step(backend, batch);
    return trainer.loss();
  }

  Backend& backend;
  Trainer trainer;
  Batch batch;
};

}  // namespace trainbench
