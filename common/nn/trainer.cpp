#include "common/nn/trainer.h"

#include "common/host_values.h"

namespace trainbench {

Trainer::Trainer(Backend& backend, const Workload& workload, const TrainerOptions& options)
    : backend_(backend), options_(options) {
  const Precision& precision = options_.precision;
  backend_.require_precision(precision);
  model_ = workload.make(workload, options_.sizes);
  parameters_ = std::make_unique<Parameters>(backend_, model_->layout(), precision, options_.seed);
  optimizer_ = std::make_unique<Optimizer>(backend_, *parameters_, workload.optimizer);
  model_->allocate(backend_, {.batch = options_.batch,
                              .compute = precision.compute,
                              .master = precision.master,
                              .training = true});
  scaling_.enabled = precision.loss_scaling;
  state_ =
      allocate_step_state(backend_, {.learning_rate = static_cast<float>(workload.learning_rate),
                                     .loss_scale = scaling_.enabled ? scaling_.initial : 1.0f});
  mean_loss_ = backend_.allocate(Shape{1}, precision.master, MemoryKind::workspace);
}

void Trainer::step(Backend& via, const Batch& batch) {
  evaluate(via, batch);
  const Pass pass{via, options_.precision.math, options_.fused};
  model_->backward(pass, *parameters_);
  if (scaling_.enabled) via.check_finite(parameters_->gradients(), state_);
  optimizer_->update(via, *parameters_, state_);
  via.finish_step(scaling_, state_);
}

void Trainer::evaluate(Backend& via, const Batch& batch) {
  const Pass pass{via, options_.precision.math, options_.fused};
  model_->forward(pass, *parameters_, batch);
  model_->loss(pass, batch, state_);
  via.mean(model_->losses(), mean_loss_);
}

double Trainer::loss() { return read_values(backend_, mean_loss_).front(); }

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
