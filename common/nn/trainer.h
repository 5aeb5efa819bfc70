#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "common/models/workload.h"

namespace trainbench {

struct TrainerOptions {
  Precision precision = kFp32;
  std::int64_t batch = 0;
  std::uint64_t seed = 1;
  bool fused = true;
  int accumulation = 1;  ///< batches whose gradients one update adds up
  ModelSizes sizes;
};

/// The parts of a training step.
enum class StepPhase : std::uint8_t { forward, backward, update };

/// A model, its parameters and its optimizer on a device: what one training step needs.
class Trainer {
 public:
  /// Allocates everything; a step allocates nothing.
  Trainer(Backend& backend, const Workload& workload, const TrainerOptions& options);

  /// One step: forward, loss, backward, update. Does not wait. `via` computes on this trainer's
  /// tensors: the backend that owns them, or one that checks or counts.
  void step(Backend& via, const Batch& batch) { step(via, std::span(&batch, 1)); }
  /// The same over options().accumulation batches: their mean gradient, one update.
  void step(Backend& via, std::span<const Batch> batches);
  /// Forward and loss alone, with nothing updated.
  void evaluate(Backend& via, const Batch& batch);

  /// Mean loss of the last step's batches, or of the last evaluation; waits.
  double loss();
  /// The step's scalars on the device; waits.
  StepState state();
  /// The number of samples of `labels` (host) whose largest logit is the label's; waits. For the
  /// batch last evaluated.
  std::int64_t correct(const std::vector<std::int32_t>& labels);

  /// Calls `watcher` as each phase of a step begins; an empty one stops that.
  void watch_phases(std::function<void(StepPhase)> watcher) { watcher_ = std::move(watcher); }

  Model& model() { return *model_; }
  Parameters& parameters() { return *parameters_; }
  const TrainerOptions& options() const { return options_; }

 private:
  void forward(Backend& via, const Batch& batch, std::int64_t index, bool training);
  void enter(StepPhase phase) const {
    if (watcher_) watcher_(phase);
  }
  void accumulate(Backend& via, std::size_t index, std::size_t count);

  Backend& backend_;
  TrainerOptions options_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Parameters> parameters_;
  std::unique_ptr<Optimizer> optimizer_;
  std::function<void(StepPhase)> watcher_;
  LossScaling scaling_;
  double gradient_clip_;
  Tensor state_;
  Tensor mean_losses_;        // [accumulation]
  Tensor gradient_sum_;       // of a step's earlier batches; absent without accumulation
  std::size_t measured_ = 1;  // entries of mean_losses_ that hold the last losses
};

}  // namespace trainbench
