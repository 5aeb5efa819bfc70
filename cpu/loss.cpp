#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

#include "common/core/dispatch.h"
#include "cpu/convert.h"
#include "cpu/cpu_backend.h"
#include "cpu/parallel.h"
#include "cpu/vector_math.h"

namespace trainbench {
namespace {

/// exp(x), x <= 0, and zero where exp would be below the smallest normal number.
template <class W>
W exponential(W x) {
  constexpr W kLeast = std::is_same_v<W, double> ? W{-708} : W{-87};
  return x < kLeast ? W{0} : vector_exp(x);
}

/// The largest logit and the sum of exp(logit - largest) of a row, from one pass over it: the sum
/// is renewed where a block brings a larger one (Milakov and Gimelshein, arXiv 1805.02867).
template <class W>
struct LogSumExp {
  W largest = -std::numeric_limits<W>::infinity();
  W sum = 0;

  template <class T>
  static LogSumExp of(const T* logits, std::int64_t classes) {
    LogSumExp all;
    Block<T> block;
    for (std::int64_t first = 0; first < classes; first += kBlock) {
      const std::int64_t count = std::min(kBlock, classes - first);
      all.add(block.read(logits + first, count), count);
    }
    return all;
  }
  W value() const { return largest + std::log(sum); }

 private:
  void add(const W* logits, std::int64_t count) {
    W most = largest;
#pragma omp simd reduction(max : most)
    for (std::int64_t c = 0; c < count; ++c) most = logits[c] > most ? logits[c] : most;
    W part = 0;
#pragma omp simd reduction(+ : part)
    for (std::int64_t c = 0; c < count; ++c) part += exponential(logits[c] - most);
    sum = sum * exponential(largest - most) + part;
    largest = most;
  }
};

/// dx = (softmax(logits) - onehot(right)) * factor, of one row.
template <class T>
void cross_entropy_gradient(const T* logits, std::int64_t classes, const LogSumExp<Wide<T>>& all,
                            std::int64_t right, Wide<T> factor, T* dx) {
  using W = Wide<T>;
  const W scale = factor / all.sum;
  Block<T> logit_block, dx_block;
  for (std::int64_t first = 0; first < classes; first += kBlock) {
    const std::int64_t count = std::min(kBlock, classes - first);
    const W* logit = logit_block.read(logits + first, count);
    W* slope = dx_block.target(dx + first);
#pragma omp simd
    for (std::int64_t c = 0; c < count; ++c) slope[c] = exponential(logit[c] - all.largest) * scale;
    if (right >= first && right < first + count) {
      const W probability = exponential(logit[right - first] - all.largest) / all.sum;
      slope[right - first] = (probability - W{1}) * factor;
    }
    dx_block.store(dx + first, count);
  }
}

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
    // A thread's wake-up pays for some thousands of logits.
    const std::int64_t grain = std::clamp<std::int64_t>(kGrain / classes, 1, 16);
    parallel_ranges(threads_, batch, grain, [=](Range rows) {
      for (std::int64_t row = rows.first; row < rows.last; ++row) {
        const T* logit = x + row * classes;
        const auto all = LogSumExp<W>::of(logit, classes);
        const std::int64_t right = label[row];
        const bool valid = right >= 0 && right < classes;
        if (loss != nullptr) {
          loss[row] =
              valid ? all.value() - widen(logit[right]) : std::numeric_limits<W>::quiet_NaN();
        }
        if (dx != nullptr) {
          cross_entropy_gradient(logit, classes, all, right, factor, dx + row * classes);
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
