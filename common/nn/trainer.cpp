#include "common/nn/trainer.h"

#include <numeric>

#include "common/host_values.h"

namespace trainbench {

Trainer::Trainer(Backend& backend, const Workload& workload, const TrainerOptions& options)
    : backend_(backend), options_(options), gradient_clip_(workload.gradient_clip) {
  const Precision& precision = options_.precision;
  require(options_.accumulation >= 1, "a step has at least one batch");
  backend_.require_precision(precision);
  model_ = workload.make(workload, options_.sizes);
  parameters_ = std::make_unique<Parameters>(backend_, model_->layout(), precision, options_.seed);
  optimizer_ = std::make_unique<Optimizer>(backend_, *parameters_, workload.optimizer);
  model_->allocate(backend_, {.batch = options_.batch,
                              .compute = precision.compute,
                              .master = precision.master,
                              .training = true,
                              .fused = options_.fused});
  scaling_.enabled = precision.loss_scaling;
  state_ = allocate_step_state(backend_,
                               {.learning_rate = static_cast<float>(workload.learning_rate),
                                .loss_scale = scaling_.enabled ? scaling_.initial : 1.0f,
                                .gradient_scale = 1.0f / static_cast<float>(options_.accumulation),
                                .seed = options_.seed});
  mean_losses_ =
      backend_.allocate(Shape{options_.accumulation}, precision.master, MemoryKind::workspace);
  if (options_.accumulation > 1) {
    const Tensor gradients = parameters_->gradients();
    gradient_sum_ = backend_.allocate(gradients.shape, gradients.dtype, MemoryKind::gradients);
  }
}

void Trainer::step(Backend& via, std::span<const Batch> batches) {
  require(batches.size() == static_cast<std::size_t>(options_.accumulation),
          "a step takes as many batches as it accumulates");
  const Pass pass{via, options_.precision.math, options_.fused, true, state_};
  for (std::size_t i = 0; i < batches.size(); ++i) {
    enter(StepPhase::forward);
    forward(via, batches[i], static_cast<std::int64_t>(i), true);
    enter(StepPhase::backward);
    model_->backward(pass, *parameters_);
    accumulate(via, i, batches.size());
  }
  measured_ = batches.size();
  enter(StepPhase::update);
  if (gradient_clip_ > 0) {
    via.clip_gradients(parameters_->gradients(), gradient_clip_, state_);
  } else if (scaling_.enabled) {
    via.check_finite(parameters_->gradients(), state_);
  }
  optimizer_->update(via, *parameters_, state_);
  via.finish_step(scaling_, state_);
}

void Trainer::evaluate(Backend& via, const Batch& batch) {
  forward(via, batch, 0, false);
  measured_ = 1;
}

void Trainer::forward(Backend& via, const Batch& batch, std::int64_t index, bool training) {
  const Pass pass{via, options_.precision.math, options_.fused, training, state_};
  model_->forward(pass, *parameters_, batch);
  model_->loss(pass, batch, state_);
  via.mean(model_->losses(), mean_losses_.range(index, 1));
}

/// The sum waits beside the gradients while a backward pass overwrites them; the last batch brings
/// it back to where the optimizer reads.
void Trainer::accumulate(Backend& via, std::size_t index, std::size_t count) {
  if (count == 1) return;
  const Tensor gradients = parameters_->gradients();
  if (index == 0) {
    via.copy(gradients, gradient_sum_);
  } else {
    via.add(gradients, gradient_sum_, index + 1 < count ? gradient_sum_ : gradients);
  }
}

double Trainer::loss() {
  const std::vector<double> losses = read_values(backend_, mean_losses_);
  const auto last = losses.begin() + static_cast<std::ptrdiff_t>(measured_);
  return std::accumulate(losses.begin(), last, 0.0) / static_cast<double>(measured_);
}

StepState Trainer::state() { return read_step_state(backend_, state_); }

std::int64_t Trainer::correct(const std::vector<std::int32_t>& labels) {
  const std::vector<double> logits = read_values(backend_, model_->logits());
  const auto classes = static_cast<std::size_t>(model_->logits().shape[1]);
  std::int64_t hits = 0;
  for (std::size_t row = 0; row < labels.size(); ++row) {
    std::size_t best = 0;
    for (std::size_t c = 1; c < classes; ++c) {
      if (logits[row * classes + c] > logits[row * classes + best]) best = c;
    }
    hits += static_cast<std::int32_t>(best) == labels[row];
  }
  return hits;
}

}  // namespace trainbench
