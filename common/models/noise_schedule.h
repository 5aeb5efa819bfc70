#pragma once

#include <cstdint>
#include <vector>

#include "common/backend.h"

namespace trainbench {

/// Quantile of the standard normal distribution, 0 < p < 1; accurate to a few roundings.
double normal_quantile(double p);

/// The diffusion process of Ho, Jain and Abbeel (NeurIPS 2020): betas from 1e-4 to 0.02 on a
/// straight line over the steps, and what a network is told about a step.
class NoiseSchedule {
 public:
  /// `features` numbers a step, an even number.
  NoiseSchedule(std::int64_t steps, std::int64_t features) : steps_(steps), features_(features) {}

  void allocate(Backend& backend, DType compute);

  DiffusionTables tables() const { return {signal_, noise_, normal_}; }
  /// [steps, features] in the compute dtype: sines, then cosines, of the step's number times
  /// frequencies from 1 to nearly 1e-4 (Vaswani et al., NeurIPS 2017).
  ConstTensor step_features() const { return step_features_; }

  /// Products of 1 - beta up to each step.
  std::vector<double> alpha_bar() const;
  std::vector<double> features_by_definition() const;

 private:
  std::int64_t steps_;
  std::int64_t features_;
  Tensor signal_;
  Tensor noise_;
  Tensor normal_;
  Tensor step_features_;
};

}  // namespace trainbench
