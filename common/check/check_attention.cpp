#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "common/check/check_backend.h"
#include "common/check/expected.h"
#include "common/check/reference.h"

namespace trainbench {
namespace {

/// Elements recomputed of attention's results: each takes a row or a column of scores.
constexpr std::int64_t kCheckedRows = 256;

/// Of weights and their gradients in the compute dtype: matrix units multiply 16-bit numbers.
double operand_roundoff(DType dtype) { return size_of(dtype) == 2 ? unit_roundoff(dtype) : 0; }

/// A sum of products of an uncertain number and one that is known.
struct UncertainSum {
  Sum terms;
  double error = 0;

  void add(const Expected& factor, double known) {
    terms.add(factor.value * known);
    error += factor.bound * std::abs(known);
  }
  Expected expected(std::int64_t length, DType dtype, MathMode math) const {
    return {terms.value, error + product_error(length, dtype, math, terms.magnitude) +
                             operand_roundoff(dtype) * terms.magnitude};
  }
};

/// Attention by its definition, one number at a time, from what the device had.
class Attention {
 public:
  Attention(const AttentionOptions& options, MathMode math, const HostTensor& qkv)
      : options_(options),
        math_(math),
        qkv_(qkv),
        steps_(qkv.shape()[1]),
        columns_(qkv.shape()[2] / 3),
        width_(columns_ / options.heads),
        u_(working_roundoff(accumulator_of(qkv.dtype()))) {}

  /// A position of the result: row (sample, step) and column.
  struct Place {
    std::int64_t sample, step, column;
  };
  Place place(std::int64_t row, std::int64_t column) const {
    return {row / steps_, row % steps_, column};
  }
  std::int64_t steps() const { return steps_; }
  std::int64_t columns() const { return columns_; }
  std::int64_t head_of(std::int64_t column) const { return column / width_; }
  std::int64_t keys(std::int64_t query) const { return options_.causal ? query + 1 : steps_; }
  std::int64_t first_query(std::int64_t key) const { return options_.causal ? key : 0; }

  double element(std::int64_t part, std::int64_t sample, std::int64_t step,
                 std::int64_t column) const {
    return qkv_[((sample * steps_ + step) * 3 + part) * columns_ + column];
  }
  Lane lane(std::int64_t part, std::int64_t sample, std::int64_t step, std::int64_t head) const {
    return {qkv_, ((sample * steps_ + step) * 3 + part) * columns_ + head * width_, 1};
  }
  Lane row_lane(const HostTensor& rows, std::int64_t sample, std::int64_t step,
                std::int64_t head) const {
    return {rows, (sample * steps_ + step) * columns_ + head * width_, 1};
  }

  Expected product(const Lane& a, const Lane& b) const {
    const Sum terms = dot(a, b, width_);
    return {terms.value, product_error(width_, qkv_.dtype(), math_, terms.magnitude)};
  }

  /// The scale may enter before the product or after it.
  Expected score(std::int64_t sample, std::int64_t head, std::int64_t query,
                 std::int64_t key) const {
    const Sum terms = dot(lane(0, sample, query, head), lane(1, sample, key, head), width_);
    const double scale = std::abs(options_.scale);
    return {options_.scale * terms.value,
            scale * (product_error(width_, qkv_.dtype(), math_, terms.magnitude) +
                     2 * u_ * terms.magnitude)};
  }

  /// All of a query's weights, and the logarithm of their sum before it was divided by.
  struct Row {
    std::vector<Expected> weights;
    Expected logsum;
  };
  /// An exponential errs by its argument's error (with the subtraction and the scaling to base 2)
  /// and 4 u. Sums are renewed once for each block of keys, of 16 at the least, by an exponential
  /// and a product.
  Row row(std::int64_t sample, std::int64_t head, std::int64_t query) const {
    Row result;
    double largest = -std::numeric_limits<double>::infinity();
    for (std::int64_t key = 0; key < keys(query); ++key) {
      result.weights.push_back(score(sample, head, query, key));
      largest = std::max(largest, result.weights.back().value);
    }
    const double renewals = 6 * (static_cast<double>(keys(query)) / 16 + 1) * u_;
    Sum sum;
    double sum_error = 0;
    for (Expected& weight : result.weights) {
      const double below = largest - weight.value;
      const double relative =
          weight.bound + u_ * (2 * below + 2 * std::abs(largest) + 4) + renewals;
      weight.value = std::exp(-below);
      weight.bound = weight.value * relative;
      sum.add(weight.value);
      sum_error += weight.bound;
    }
    sum_error =
        sum_error / sum.value + summation_error(keys(query), accumulator_of(qkv_.dtype()), 1);
    for (Expected& weight : result.weights) {
      weight.bound = (weight.bound + weight.value * (sum_error + 2 * u_)) / sum.value;
      weight.value /= sum.value;
    }
    const double log_sum = std::log(sum.value);
    result.logsum = {largest + log_sum, sum_error + u_ * (4 * log_sum + 2 * std::abs(largest) + 2)};
    return result;
  }

  Expected output(const Place& at) const {
    const std::int64_t head = head_of(at.column);
    const Row weights = row(at.sample, head, at.step);
    UncertainSum sum;
    for (std::int64_t key = 0; key < keys(at.step); ++key) {
      sum.add(weights.weights[static_cast<std::size_t>(key)],
              element(2, at.sample, key, at.column));
    }
    return sum.expected(keys(at.step), qkv_.dtype(), math_);
  }

 private:
  AttentionOptions options_;
  MathMode math_;
  const HostTensor& qkv_;
  std::int64_t steps_, columns_, width_;
  double u_;
};

/// What the backward pass reads besides.
struct BackwardOperands {
  const HostTensor& y;
  const HostTensor& logsum;
  const HostTensor& dy;
};

/// A weight as the backward pass recomputes it, from the logarithm that the device kept.
Expected weight_again(const Attention& attention, const AttentionOptions& options,
                      const BackwardOperands& operands, std::int64_t sample, std::int64_t head,
                      std::int64_t query, std::int64_t key, double u) {
  const double logsum =
      operands.logsum[(sample * options.heads + head) * attention.steps() + query];
  const Expected score = attention.score(sample, head, query, key);
  const double argument = score.value - logsum;
  const double value = std::exp(argument);
  return {value, value * (score.bound + u * (2 * std::abs(argument) + std::abs(logsum) + 4))};
}

Expected score_gradient(const Attention& attention, const BackwardOperands& operands,
                        const Expected& weight, std::int64_t sample, std::int64_t head,
                        std::int64_t query, std::int64_t key, double u) {
  const Lane dy = attention.row_lane(operands.dy, sample, query, head);
  const Expected slope = attention.product(dy, attention.lane(2, sample, key, head));
  const Expected along = attention.product(dy, attention.row_lane(operands.y, sample, query, head));
  const double difference = slope.value - along.value;
  const double error = slope.bound + along.bound + 2 * u * std::abs(difference);
  return {weight.value * difference,
          weight.bound * (std::abs(difference) + error) + weight.value * error};
}

/// The gradient by one element of q (part 0), k (1) or v (2).
Expected attention_gradient(const Attention& attention, const AttentionOptions& options,
                            const BackwardOperands& operands, std::int64_t part,
                            const Attention::Place& at, MathMode math) {
  const DType dtype = operands.dy.dtype();
  const double u = working_roundoff(accumulator_of(dtype));
  const std::int64_t head = attention.head_of(at.column);
  const bool by_query = part == 0;
  const std::int64_t first = by_query ? 0 : attention.first_query(at.step);
  const std::int64_t last = by_query ? attention.keys(at.step) : attention.steps();
  UncertainSum sum;
  for (std::int64_t other = first; other < last; ++other) {
    const std::int64_t query = by_query ? at.step : other;
    const std::int64_t key = by_query ? other : at.step;
    const Expected weight =
        weight_again(attention, options, operands, at.sample, head, query, key, u);
    if (part == 2) {
      sum.add(
          weight,
          operands.dy[(at.sample * attention.steps() + query) * attention.columns() + at.column]);
      continue;
    }
    Expected slope = score_gradient(attention, operands, weight, at.sample, head, query, key, u);
    slope.bound += 2 * u * std::abs(slope.value);
    sum.add(slope, options.scale * attention.element(1 - part, at.sample, other, at.column));
  }
  return sum.expected(last - first, dtype, math);
}

/// Where an element of a tensor lies in a batch of matrices.
struct InBatch {
  std::int64_t outer, inner, row, column;
};
std::optional<InBatch> locate(const MatmulBatch& batch, const Matrices& c, std::int64_t index) {
  struct Axis {
    std::int64_t stride, extent, *place;
  };
  InBatch at{};
  std::array<Axis, 3> axes{Axis{c.outer_stride, batch.outer, &at.outer},
                           Axis{c.inner_stride, batch.inner, &at.inner},
                           Axis{c.row_stride, batch.m, &at.row}};
  std::sort(axes.begin(), axes.end(),
            [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
  std::int64_t rest = index - c.offset;
  if (rest < 0) return {};
  for (const Axis& axis : axes) {
    if (axis.extent == 1 || axis.stride == 0) continue;
    *axis.place = std::min(rest / axis.stride, axis.extent - 1);
    rest -= *axis.place * axis.stride;
  }
  if (rest >= batch.n) return {};
  at.column = rest;
  return at;
}

/// Row `row` of op(A), or column `row` of op(B), of one matrix of a batch.
Lane batch_lane(const HostTensor& tensor, const ConstMatrices& matrices, const InBatch& at,
                std::int64_t row, bool along_rows) {
  const std::int64_t first =
      matrices.offset + at.outer * matrices.outer_stride + at.inner * matrices.inner_stride;
  if (along_rows) return {tensor, first + row * matrices.row_stride, 1};
  return {tensor, first + row, matrices.row_stride};
}

}  // namespace

void CheckBackend::attention(const AttentionOptions& options, ConstTensor qkv, Tensor y,
                             Tensor logsum, MathMode math) {
  const Held inputs = hold(qkv);
  inner_.attention(options, qkv, y, logsum, math);
  const Attention reference(options, math, *inputs);
  const std::string operation = named("attention", qkv.dtype);
  compare(
      operation, "y", y,
      [&](std::int64_t i) {
        return stored(y.dtype, reference.output(reference.place(i / reference.columns(),
                                                                i % reference.columns())));
      },
      kCheckedRows);
  compare(
      operation, "logsum", logsum,
      [&](std::int64_t i) {
        const std::int64_t head = i / reference.steps();
        return reference.row(head / options.heads, head % options.heads, i % reference.steps())
            .logsum;
      },
      kCheckedRows);
}

void CheckBackend::attention_backward(const AttentionOptions& options, ConstTensor qkv,
                                      ConstTensor y, ConstTensor logsum, ConstTensor dy,
                                      Tensor dqkv, MathMode math) {
  const Held inputs = hold(qkv);
  const Held outputs = hold(y);
  const Held sums = hold(logsum);
  const Held slopes = hold(dy);
  inner_.attention_backward(options, qkv, y, logsum, dy, dqkv, math);
  const Attention reference(options, math, *inputs);
  const BackwardOperands operands{*outputs, *sums, *slopes};
  compare(
      named("attention_backward", qkv.dtype), "dqkv", dqkv,
      [&](std::int64_t i) {
        const std::int64_t part_row = i / reference.columns();
        return stored(
            dqkv.dtype,
            attention_gradient(reference, options, operands, part_row % 3,
                               reference.place(part_row / 3, i % reference.columns()), math));
      },
      kCheckedRows);
}

void CheckBackend::matmul_batched(const MatmulForm& form, const MatmulBatch& batch,
                                  const ConstMatrices& a, const ConstMatrices& b,
                                  const Matrices& c) {
  const Held left = hold(a.tensor);
  const Held right = hold(b.tensor);
  const Held before = hold(c.tensor);
  inner_.matmul_batched(form, batch, a, b, c);
  compare(named("matmul_batched", a.tensor.dtype), "c", c.tensor, [&](std::int64_t index) {
    const std::optional<InBatch> at = locate(batch, c, index);
    if (!at) return Expected{(*before)[index], 0};
    Sum terms = dot(batch_lane(*left, a, *at, at->row, !form.transpose_a),
                    batch_lane(*right, b, *at, at->column, form.transpose_b), batch.k);
    if (form.accumulate) terms.add((*before)[index]);
    return stored(c.tensor.dtype, {terms.value, product_error(batch.k + 1, a.tensor.dtype,
                                                              form.math, terms.magnitude)});
  });
}

void CheckBackend::softmax(double scale, bool causal, Tensor x) {
  const Held before = hold(x);
  inner_.softmax(scale, causal, x);
  const std::int64_t columns = x.shape[2];
  const DType accumulator = accumulator_of(x.dtype);
  const double u = working_roundoff(accumulator);
  compare(named("softmax", x.dtype), "x", x, [&](std::int64_t i) {
    const std::int64_t row = i / columns;
    const std::int64_t visible = causal ? row % columns + 1 : columns;
    if (i % columns >= visible) return Expected{0, 0};
    double largest = -std::numeric_limits<double>::infinity();
    for (std::int64_t j = 0; j < visible; ++j) {
      largest = std::max(largest, scale * (*before)[row * columns + j]);
    }
    Sum sum;
    double spread = 0;
    for (std::int64_t j = 0; j < visible; ++j) {
      const double below = largest - scale * (*before)[row * columns + j];
      sum.add(std::exp(-below));
      spread += std::exp(-below) * below;
    }
    // An argument errs by the scaling of both numbers, the subtraction and the scaling to base 2.
    const auto argument_error = [&](double below) {
      return u * (2 * std::abs(largest) + 4 * below + 4);
    };
    const double below = largest - scale * (*before)[i];
    const double value = std::exp(-below) / sum.value;
    return stored(x.dtype,
                  {value, value * (argument_error(below) + argument_error(spread / sum.value) +
                                   4 * u + summation_error(visible, accumulator, 1)) +
                              underflow_error(accumulator)});
  });
}

void CheckBackend::softmax_backward(double scale, ConstTensor y, Tensor dy) {
  const Held weights = hold(y);
  const Held before = hold(dy);
  inner_.softmax_backward(scale, y, dy);
  const std::int64_t columns = y.shape[2];
  const DType accumulator = accumulator_of(y.dtype);
  const double u = working_roundoff(accumulator);
  compare(named("softmax_backward", y.dtype), "dy", dy, [&](std::int64_t i) {
    const std::int64_t first = i / columns * columns;
    const Sum along = dot({*weights, first, 1}, {*before, first, 1}, columns);
    const double factor = scale * (*weights)[i];
    const double error = summation_error(columns, accumulator, along.magnitude) +
                         4 * u * (std::abs((*before)[i]) + std::abs(along.value));
    return stored(dy.dtype, {factor * ((*before)[i] - along.value), std::abs(factor) * error});
  });
}

}  // namespace trainbench
