#pragma once

#include <cstdint>

#include "common/backend.h"
#include "common/check/bounds.h"
#include "common/check/host_tensor.h"

namespace trainbench {

/// The operations' definitions as plain loops in double, one result at a time, with the error that
/// a right implementation may have (bounds.h). They share nothing with any backend.

/// Elements first, first + step, ... of a tensor.
struct Lane {
  const HostTensor& tensor;
  std::int64_t first;
  std::int64_t step;
};

/// A sum and the sum of its terms' magnitudes, which its error is proportional to.
struct Sum {
  double value = 0;
  double magnitude = 0;

  void add(double term) {
    value += term;
    magnitude += term < 0 ? -term : term;
  }
};

Sum sum(const Lane& a, std::int64_t count);
/// Both lanes have one floating-point dtype.
Sum dot(const Lane& a, const Lane& b, std::int64_t count);

/// activation(x) computed on values of `dtype`, where x itself is only known to x.bound.
Expected activated(Activation activation, const Expected& x, DType dtype);
/// activation'(x), likewise. Where x may have either sign, ReLU's is 0 or 1: bound 1 about either.
Expected derivative(Activation activation, const Expected& x, DType dtype);

/// log sum exp(logits[row]) - logits[row][label]; NaN where the label is none.
Expected cross_entropy(const HostTensor& logits, const HostTensor& labels, std::int64_t row);
/// Its derivative by logits[row][column], times scale / rows, before it is stored.
Expected cross_entropy_gradient(const HostTensor& logits, const HostTensor& labels,
                                std::int64_t row, std::int64_t column, double scale);

/// A weight and its optimizer state after an update.
struct Updated {
  Expected weight;
  Expected first;   ///< velocity, or first moment
  Expected second;  ///< second moment; unused by SGD
};

/// A weight and what its update reads.
struct Updating {
  double weight;
  double gradient;  ///< times the loss scale
  double first;
  double second;
};

/// Both leave everything as it is where state.nonfinite is set.
Updated sgd_update(const SgdOptions& options, const StepState& state, const Updating& old,
                   DType master);
Updated adamw_update(const AdamOptions& options, const StepState& state, const Updating& old,
                     DType master);

/// clip_factor of a gradient, before gradient_factor(), under `state`; NaN where it is not finite.
Expected clip_factor(const HostTensor& gradients, double max_norm, const StepState& state);

/// The step's scalars after finish_step().
StepState finished(const LossScaling& scaling, StepState state);

}  // namespace trainbench
