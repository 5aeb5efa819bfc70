// CheckBackend's operations: each reads its operands, runs on the inner backend and compares.

#include <cmath>
#include <limits>

#include "common/check/check_backend.h"
#include "common/check/expected.h"
#include "common/check/reference.h"
#include "common/host_values.h"
#include "common/matmul_size.h"

namespace trainbench {
namespace {

/// The activation's derivative where it was applied to `input`, as the device can know it. ReLU
/// leaves a sign, which survives rounding; the others their input, rounded to the compute dtype.
Expected slope(Activation activation, const Expected& input, DType dtype) {
  return derivative(activation, keeps_input(activation) ? stored(dtype, input) : input, dtype);
}

/// " bias relu": what the epilogue does besides storing the product.
std::string epilogue_name(const MatmulEpilogue& epilogue) {
  std::string name;
  const auto add = [&](std::string_view part, std::string_view suffix = "") {
    name.append(" ").append(part).append(suffix);
  };
  if (!epilogue.bias.absent()) add("bias");
  if (epilogue.activation != Activation::none) add(name_of(epilogue.activation));
  if (epilogue.gradient_of != Activation::none) {
    add(name_of(epilogue.gradient_of), "'");
  }
  if (!epilogue.bias_gradient.absent()) add("bias_gradient");
  return name;
}

}  // namespace

void CheckBackend::copy(ConstTensor from, Tensor to) {
  const Held source = hold(from);
  inner_.copy(from, to);
  compare("copy", "to", to, [&](std::int64_t i) { return Expected{(*source)[i], 0}; });
}

void CheckBackend::fill_zero(Tensor tensor) {
  inner_.fill_zero(tensor);
  compare("fill_zero", "to", tensor, [](std::int64_t) { return Expected{0, 0}; });
}

void CheckBackend::cast(ConstTensor from, Tensor to) {
  const Held source = hold(from);
  inner_.cast(from, to);
  // A double may go to 16 bits through float: two roundings, of which the first can move a tie.
  const bool twice = from.dtype == DType::f64 && size_of(to.dtype) == 2;
  compare(named("cast", from.dtype) + "->" + std::string(trainbench::name_of(to.dtype)), "to", to,
          [&](std::int64_t i) {
            const double value = (*source)[i];
            return twice ? stored(to.dtype, {value, 0}) : Expected{rounded_to(to.dtype, value), 0};
          });
}

void CheckBackend::normalize_bytes(ConstTensor from, Tensor to, float scale, float shift) {
  const Held source = hold(from);
  inner_.normalize_bytes(from, to, scale, shift);
  const double u = working_roundoff(accumulator_of(to.dtype));
  compare(named("normalize_bytes", to.dtype), "to", to, [&](std::int64_t i) {
    const double product = (*source)[i] * static_cast<double>(scale);
    const double value = product + static_cast<double>(shift);
    return stored(to.dtype, {value, u * (std::abs(product) + std::abs(value))});
  });
}

void CheckBackend::matmul(const MatmulForm& form, ConstTensor a, ConstTensor b, Tensor c,
                          const MatmulEpilogue& epilogue) {
  const MatmulSize size = matmul_size(form, a, b, c, epilogue);
  const Held left = hold(a);
  const Held right = hold(b);
  const Held bias = hold(epilogue.bias);
  const Held before = hold(form.accumulate ? ConstTensor(c) : ConstTensor());
  const bool backward = epilogue.gradient_of != Activation::none;
  const Reference input = backward ? activation_input(epilogue.gradient_saved) : Reference();
  inner_.matmul(form, a, b, c, epilogue);

  // Row i of op(A) and column j of op(B).
  const auto row = [form, size, left](std::int64_t i) {
    return form.transpose_a ? Lane{*left, i, size.m} : Lane{*left, i * size.k, 1};
  };
  const auto column = [form, size, right](std::int64_t j) {
    return form.transpose_b ? Lane{*right, j * size.k, 1} : Lane{*right, j, size.n};
  };
  const DType operand = a.dtype;
  const Reference product = [=](std::int64_t index) {
    Sum terms = dot(row(index / size.n), column(index % size.n), size.k);
    if (!before->absent()) terms.add((*before)[index]);
    if (!bias->absent()) terms.add((*bias)[index % size.n]);
    return Expected{terms.value, product_error(size.k + 2, operand, form.math, terms.magnitude) +
                                     underflow_error(operand)};
  };
  if (!epilogue.saved.absent()) activation_inputs_[epilogue.saved.data] = product;

  const std::string operation = matmul_name(form, size, operand, c.dtype) + epilogue_name(epilogue);
  compare(operation, "c", c, [&](std::int64_t index) {
    const Expected result = activated(epilogue.activation, product(index), operand);
    if (!backward) return stored(c.dtype, result);
    return stored(c.dtype,
                  times(result, slope(epilogue.gradient_of, input(index), operand), operand));
  });
  compare(operation, "bias_gradient", epilogue.bias_gradient, [&](std::int64_t i) {
    const Sum terms = sum(row(i), size.k);
    return stored(c.dtype,
                  {terms.value, product_error(size.k, operand, form.math, terms.magnitude)});
  });
}

void CheckBackend::add_bias(Tensor x, ConstTensor bias) {
  const Held before = hold(x);
  const Held addend = hold(bias);
  inner_.add_bias(x, bias);
  const std::int64_t columns = x.shape[1];
  const std::int64_t group = rows_of_group(x, bias) * columns;
  const double u = working_roundoff(accumulator_of(x.dtype));
  compare(named("add_bias", x.dtype), "x", x, [&](std::int64_t i) {
    const double value = (*before)[i] + (*addend)[i / group * columns + i % columns];
    return stored(x.dtype, {value, u * std::abs(value)});
  });
}

void CheckBackend::activation_forward(Activation activation, Tensor x, Tensor saved) {
  const Held before = hold(x);
  inner_.activation_forward(activation, x, saved);
  const Reference input = [before](std::int64_t i) { return Expected{(*before)[i], 0}; };
  if (!saved.absent()) activation_inputs_[saved.data] = input;
  compare(named("activation_forward", activation, x.dtype), "x", x, [&](std::int64_t i) {
    const Expected result = activated(activation, input(i), x.dtype);
    // ReLU selects: nothing is rounded.
    return keeps_input(activation) ? stored(x.dtype, result) : result;
  });
}

void CheckBackend::activation_backward(Activation activation, ConstTensor saved, Tensor dx) {
  const Held before = hold(dx);
  const Reference input = activation_input(saved);
  inner_.activation_backward(activation, saved, dx);
  compare(named("activation_backward", activation, dx.dtype), "dx", dx, [&](std::int64_t i) {
    const Expected factor = slope(activation, input(i), dx.dtype);
    return stored(dx.dtype, times({(*before)[i], 0}, factor, dx.dtype));
  });
}

void CheckBackend::bias_gradient(ConstTensor dy, Tensor db) {
  const Held gradient = hold(dy);
  inner_.bias_gradient(dy, db);
  const std::int64_t rows = rows_of_group(dy, db);
  const std::int64_t columns = dy.shape[1];
  compare(named("bias_gradient", dy.dtype), "db", db, [&](std::int64_t j) {
    const std::int64_t first = j / columns * rows * columns + j % columns;
    const Sum terms = sum({*gradient, first, columns}, rows);
    return stored(db.dtype, {terms.value, summation_error(rows, db.dtype, terms.magnitude)});
  });
}

void CheckBackend::add(ConstTensor a, ConstTensor b, Tensor y) {
  const Held left = hold(a);
  const Held right = hold(b);
  inner_.add(a, b, y);
  compare(named("add", y.dtype), "y", y, [&](std::int64_t i) {
    return stored(y.dtype, plus({(*left)[i], 0}, {(*right)[i], 0}, y.dtype));
  });
}

void CheckBackend::softmax_cross_entropy(ConstTensor logits, ConstTensor labels, Tensor losses,
                                         Tensor gradient, ConstTensor state) {
  const Held scores = hold(logits);
  const Held classes = hold(labels);
  const double scale = gradient.absent() ? 1 : static_cast<double>(state_of(state).loss_scale);
  inner_.softmax_cross_entropy(logits, labels, losses, gradient, state);
  const std::string operation = named("softmax_cross_entropy", logits.dtype);
  compare(operation, "losses", losses,
          [&](std::int64_t row) { return cross_entropy(*scores, *classes, row); });
  const std::int64_t columns = logits.shape[1];
  compare(operation, "gradient", gradient, [&](std::int64_t i) {
    return stored(gradient.dtype,
                  cross_entropy_gradient(*scores, *classes, i / columns, i % columns, scale));
  });
}

void CheckBackend::mean(ConstTensor values, Tensor mean) {
  const Held terms = hold(values);
  inner_.mean(values, mean);
  const std::int64_t count = values.elements();
  compare(named("mean", values.dtype), "mean", mean, [&](std::int64_t) {
    const Sum total = sum({*terms, 0, 1}, count);
    const auto divisor = static_cast<double>(count);
    const double value = total.value / divisor;
    return Expected{value, summation_error(count, mean.dtype, total.magnitude) / divisor +
                               2 * rounding_error(mean.dtype, value)};
  });
}

void CheckBackend::check_finite(ConstTensor gradients, Tensor state) {
  const HostTensor values(inner_, gradients);
  StepState expected = state_of(state);
  for (std::int64_t i = 0; i < values.elements(); ++i) {
    if (!std::isfinite(values[i])) expected.nonfinite = 1;
  }
  inner_.check_finite(gradients, state);
  compare_state(named("check_finite", gradients.dtype), expected, state);
}

void CheckBackend::clip_gradients(ConstTensor gradients, double max_norm, Tensor state) {
  const HostTensor values(inner_, gradients);
  StepState expected = state_of(state);
  const Expected factor = clip_factor(values, max_norm, expected);
  inner_.clip_gradients(gradients, max_norm, state);
  expected.clip_factor = static_cast<float>(factor.value);
  if (std::isnan(factor.value)) {
    expected.clip_factor = 1;
    expected.nonfinite = 1;
  }
  // Everything but the factor is exact.
  const float found = state_of(state).clip_factor;
  if (std::abs(static_cast<double>(found) - factor.value) <= factor.bound) {
    expected.clip_factor = found;
  }
  compare_state(named("clip_gradients", gradients.dtype), expected, state);
}

/// The weights after an update, and their copy, which is the new master rounded.
void CheckBackend::compare_update(const std::string& operation, const ParameterUpdate& update,
                                  const Reference& weight) {
  compare(operation, "master", update.master, weight);
  if (update.weights.absent()) return;
  const Held master = hold(update.master);
  compare(operation, "weights", update.weights, [&](std::int64_t i) {
    return Expected{rounded_to(update.weights.dtype, (*master)[i]), 0};
  });
}

void CheckBackend::sgd(const SgdOptions& options, const ParameterUpdate& update, Tensor velocity,
                       ConstTensor state) {
  const Held master = hold(update.master);
  const Held gradient = hold(update.gradient);
  const Held before = hold(velocity);
  const StepState scalars = state_of(state);
  inner_.sgd(options, update, velocity, state);
  const auto updated = [&](std::int64_t i) {
    return sgd_update(options, scalars, {(*master)[i], (*gradient)[i], (*before)[i], 0},
                      update.master.dtype);
  };
  const std::string operation = named("sgd", update.master.dtype);
  compare_update(operation, update, [&](std::int64_t i) { return updated(i).weight; });
  compare(operation, "velocity", velocity, [&](std::int64_t i) { return updated(i).first; });
}

void CheckBackend::adamw(const AdamOptions& options, const ParameterUpdate& update,
                         Tensor first_moment, Tensor second_moment, ConstTensor state) {
  const Held master = hold(update.master);
  const Held gradient = hold(update.gradient);
  const Held first = hold(first_moment);
  const Held second = hold(second_moment);
  const StepState scalars = state_of(state);
  inner_.adamw(options, update, first_moment, second_moment, state);
  const auto updated = [&](std::int64_t i) {
    return adamw_update(options, scalars, {(*master)[i], (*gradient)[i], (*first)[i], (*second)[i]},
                        update.master.dtype);
  };
  const std::string operation = named("adamw", update.master.dtype);
  compare_update(operation, update, [&](std::int64_t i) { return updated(i).weight; });
  compare(operation, "first_moment", first_moment,
          [&](std::int64_t i) { return updated(i).first; });
  compare(operation, "second_moment", second_moment,
          [&](std::int64_t i) { return updated(i).second; });
}

void CheckBackend::finish_step(const LossScaling& scaling, Tensor state) {
  const StepState expected = finished(scaling, state_of(state));
  inner_.finish_step(scaling, state);
  compare_state("finish_step", expected, state);
}

}  // namespace trainbench
