#include <cmath>
#include <cstring>
#include <limits>

#include "common/core/dispatch.h"
#include "cpu/convert.h"
#include "cpu/cpu_backend.h"
#include "cpu/parallel.h"

namespace trainbench {
namespace {

/// The largest logit and the sum of exp(logit - largest) of a row.
template <class W>
struct LogSumExp {
  W largest;
  W sum;

  template <class T>
  static LogSumExp of(const T* logits, std::int64_t classes) {
    W largest = widen(logits[0]);
    for (std::int64_t c = 1; c < classes; ++c) largest = std::max(largest, widen(logits[c]));
    W sum = 0;
    for (std::int64_t c = 0; c < classes; ++c) sum += std::exp(widen(logits[c]) - largest);
    return {largest, sum};
  }
  W value() const { return largest + std::log(sum); }
};

}  // namespace

void CpuBackend::softmax_cross_entropy(ConstTensor logits, ConstTensor labels, Tensor losses,
                                       Tensor gradient, ConstTensor state) {
  require(logits.shape.rank() == 2, "logits are [b, c]");
  const std::int64_t batch = logits.shape[0];
  const std::int64_t classes = logits.shape[1];
  const std::int32_t* label = labels.as<std::int32_t>();
  const float loss_scale = static_cast<const StepState*>(state.data)->loss_scale;
  dispatch_float(logits.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    const T* x = logits.as<T>();
    W* loss = losses.absent() ? nullptr : losses.as<W>();
    T* dx = gradient.absent() ? nullptr : gradient.as<T>();
    const W factor = static_cast<W>(loss_scale) / static_cast<W>(batch);
    parallel_ranges(threads_, batch, 16, [=](Range rows) {
      for (std::int64_t row = rows.first; row < rows.last; ++row) {
        const T* logit = x + row * classes;
        const auto all = LogSumExp<W>::of(logit, classes);
        const std::int64_t right = label[row];
        const bool valid = right >= 0 && right < classes;
        if (loss != nullptr) {
          loss[row] =
              valid ? all.value() - widen(logit[right]) : std::numeric_limits<W>::quiet_NaN();
        }
        if (dx == nullptr) continue;
        const W inverse = W{1} / all.sum;
        for (std::int64_t c = 0; c < classes; ++c) {
          const W probability = std::exp(widen(logit[c]) - all.largest) * inverse;
          dx[row * classes + c] = narrow<T>((probability - (c == right ? 1 : 0)) * factor);
        }
      }
    });
  });
}

void CpuBackend::mean_squared_error(ConstTensor prediction, ConstTensor target, Tensor losses,
                                    Tensor gradient, ConstTensor state) {
  const std::int64_t batch = prediction.shape[0];
  const std::int64_t sample = prediction.elements() / std::max<std::int64_t>(batch, 1);
  require(prediction.shape == target.shape, "a prediction and its target have one shape");
  const float loss_scale = static_cast<const StepState*>(state.data)->loss_scale;
  dispatch_float(prediction.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    const T* x = prediction.as<T>();
    const T* right = target.as<T>();
    W* loss = losses.absent() ? nullptr : losses.as<W>();
    T* dx = gradient.absent() ? nullptr : gradient.as<T>();
    const auto factor = static_cast<W>(2.0 * static_cast<double>(loss_scale) /
                                       static_cast<double>(prediction.elements()));
    parallel_ranges(threads_, batch, 1, [=](Range rows) {
      Block<T> x_block;
      Block<T> right_block;
      Block<T> dx_block;
      for (std::int64_t row = rows.first; row < rows.last; ++row) {
        double total = 0;
        for (std::int64_t i = 0; i < sample; i += kBlock) {
          const std::int64_t count = std::min(kBlock, sample - i);
          const std::int64_t offset = row * sample + i;
          const W* predicted = x_block.read(x + offset, count);
          const W* wanted = right_block.read(right + offset, count);
          W sum = 0;
#pragma omp simd reduction(+ : sum)
          for (std::int64_t j = 0; j < count; ++j) {
            const W difference = predicted[j] - wanted[j];
            sum += difference * difference;
          }
          total += static_cast<double>(sum);
          if (dx == nullptr) continue;
          W* result = dx_block.target(dx + offset);
#pragma omp simd
          for (std::int64_t j = 0; j < count; ++j) {
            result[j] = (predicted[j] - wanted[j]) * factor;
          }
          dx_block.store(dx + offset, count);
        }
        if (loss != nullptr) loss[row] = static_cast<W>(total / static_cast<double>(sample));
      }
    });
  });
}

void CpuBackend::mean(ConstTensor values, Tensor mean) {
  dispatch_float(values.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = values.as<T>();
    double sum = 0;
    for (std::int64_t i = 0; i < values.elements(); ++i) sum += static_cast<double>(widen(x[i]));
    *mean.as<T>() = narrow<T>(sum / static_cast<double>(values.elements()));
  });
}

}  // namespace trainbench
