#include <cmath>
#include <type_traits>

#include "common/core/dispatch.h"
#include "cpu/channel_strips.h"
#include "cpu/cpu_backend.h"

namespace trainbench {
namespace {

struct Extents {
  std::int64_t rows;
  std::int64_t channels;
};

Extents extents_of(const ConstTensor& x, const ConstTensor& per_channel) {
  const std::int64_t channels = x.shape[x.shape.rank() - 1];
  require(channels > 0 && per_channel.elements() == channels, "a norm has one value a channel");
  return {x.elements() / channels, channels};
}

/// Rows that are divided among threads: whole lines, enough for a thread's wake-up.
std::int64_t grain_of(const Extents& e) {
  const std::int64_t rows = rows_of_line(e.channels);
  return rows * std::max<std::int64_t>(1, kGrain / (rows * e.channels));
}

/// Two sums over the rows for each channel: in the arithmetic's type over a few lines, in double
/// over those. One set for each part of the rows, added up in their order.
class ChannelSums {
 public:
  static constexpr std::int64_t kLines = 32;

  ChannelSums(Arena& arena, int parts, std::int64_t channels)
      : parts_(parts),
        channels_(channels),
        sums_(static_cast<double*>(arena.scratch(
            Scratch::pass, static_cast<std::size_t>(2 * parts * channels) * sizeof(double)))) {}

  double* first(std::int64_t part) const { return sums_ + 2 * part * channels_; }
  double* second(std::int64_t part) const { return first(part) + channels_; }

  void clear(std::int64_t part) const { std::fill_n(first(part), 2 * channels_, 0.0); }

  template <class W>
  void add(std::int64_t part, const Strip& strip, const W* a, const W* b) const {
    const std::int64_t period = std::min(strip.width, channels_);
    double* const to_a = first(part) + strip.channel;
    double* const to_b = second(part) + strip.channel;
    for (std::int64_t i = 0; i < strip.width; i += period) {
#pragma omp simd
      for (std::int64_t j = 0; j < period; ++j) {
        to_a[j] += static_cast<double>(a[i + j]);
        to_b[j] += static_cast<double>(b[i + j]);
      }
    }
  }

  /// Into those of the first part.
  void total() const {
    for (int part = 1; part < parts_; ++part) {
      for (std::int64_t i = 0; i < 2 * channels_; ++i) sums_[i] += first(part)[i];
    }
  }

 private:
  int parts_;
  std::int64_t channels_;
  double* sums_;
};

/// Calls kernel(offset of a line, a, b) for each line, where it adds to a[width] and b[width].
template <class W, class Kernel>
void sum_lines(const ChannelSums& sums, std::int64_t part, const Strip& strip,
               const Kernel& kernel) {
  alignas(64) W a[kBlock];
  alignas(64) W b[kBlock];
  for (std::int64_t line = 0; line < strip.lines; line += ChannelSums::kLines) {
    std::fill_n(a, strip.width, W{0});
    std::fill_n(b, strip.width, W{0});
    const std::int64_t last = std::min(strip.lines, line + ChannelSums::kLines);
    for (std::int64_t i = line; i < last; ++i) kernel(strip.offset + i * strip.step, a, b);
    sums.add(part, strip, a, b);
  }
}

/// A number near each channel's mean: the variance is summed about it, where little cancels. The
/// rows that it is taken from are spread irregularly, lest all lie on the border of an image.
template <class T>
void shifts(const T* x, const Extents& e, Wide<T>* shift) {
  const std::int64_t count = std::min<std::int64_t>(8, e.rows);
  const std::int64_t stretch = e.rows / count;
  std::fill_n(shift, e.channels, Wide<T>{0});
  for (std::int64_t i = 0; i < count; ++i) {
    const T* row = x + (i * stretch + i * 2654435761 % stretch) * e.channels;
    for (std::int64_t c = 0; c < e.channels; ++c) shift[c] += widen(row[c]);
  }
  for (std::int64_t c = 0; c < e.channels; ++c) shift[c] /= static_cast<Wide<T>>(count);
}

/// The batch's mean and inverse deviation, and from them the running ones.
template <class T>
void statistics(int threads, Arena& arena, const BatchNormOptions& options, const T* x,
                const Extents& e, const BatchNormState& state) {
  using W = Wide<T>;
  W* const mean = state.mean.as<W>();
  W* const inverse = state.inverse.as<W>();
  shifts(x, e, mean);
  const int parts = parts_of(threads, e.rows, grain_of(e));
  const ChannelSums sums(arena, parts, e.channels);
  parallel_parts(parts, e.rows, grain_of(e), [&](int part, Range rows) {
    sums.clear(part);
    for_each_strip(rows, e.channels, [&](const Strip& strip) {
      const Line<W> shift(strip, e.channels, [&](std::int64_t c) { return mean[c]; });
      Elements<T> block;
      sum_lines<W>(sums, part, strip, [&](std::int64_t offset, W* a, W* b) {
        const auto values = block.read(x + offset, strip.width);
#pragma omp simd
        for (std::int64_t i = 0; i < strip.width; ++i) {
          const W d = values[i] - shift.value[i];
          a[i] += d;
          b[i] += d * d;
        }
      });
    });
  });
  sums.total();
  W* const running_mean = state.running_mean.as<W>();
  W* const running_variance = state.running_variance.as<W>();
  const auto m = static_cast<double>(e.rows);
  const auto blend = [&](W& running, double value) {
    running = static_cast<W>((1 - options.momentum) * static_cast<double>(running) +
                             options.momentum * value);
  };
  for (std::int64_t c = 0; c < e.channels; ++c) {
    const double off = sums.first(0)[c] / m;
    const double variance = std::max(0.0, sums.second(0)[c] / m - off * off);
    const double exact_mean = static_cast<double>(mean[c]) + off;
    mean[c] = static_cast<W>(exact_mean);
    inverse[c] = static_cast<W>(1 / std::sqrt(variance + options.epsilon));
    blend(running_mean[c], exact_mean);
    blend(running_variance[c], variance * m / std::max(1.0, m - 1));
  }
}

/// Calls kernel(std::bool_constant...) with the two conditions as types.
template <class Kernel>
void with_conditions(bool first, bool second, const Kernel& kernel) {
  const auto with_first = [&](auto known) {
    second ? kernel(known, std::true_type()) : kernel(known, std::false_type());
  };
  first ? with_first(std::true_type()) : with_first(std::false_type());
}

/// y = activation((x - mean(c)) inverse(c) gamma + beta + residual).
template <class T, class Mean, class Inverse>
void normalize(int threads, const BatchNormOptions& options, const T* x, const Extents& e,
               const NormWeights& weights, const T* residual, T* y, const Mean& mean,
               const Inverse& inverse) {
  using W = Wide<T>;
  const T* const gamma = weights.gamma.as<T>();
  const T* const beta = weights.beta.as<T>();
  const bool relu = options.activation == Activation::relu;
  const auto strip_kernel = [&](const Strip& strip, auto with_residual, auto with_relu) {
    const Line<W> middle(strip, e.channels, mean);
    const Line<W> scale(strip, e.channels,
                        [&](std::int64_t c) { return inverse(c) * widen(gamma[c]); });
    const Line<W> shift(strip, e.channels, [&](std::int64_t c) { return widen(beta[c]); });
    Elements<T> x_block, residual_block, y_block;
    for (std::int64_t line = 0; line < strip.lines; ++line) {
      const std::int64_t offset = strip.offset + line * strip.step;
      const auto from = x_block.read(x + offset, strip.width);
      typename Elements<T>::Reader added{};
      if constexpr (with_residual) added = residual_block.read(residual + offset, strip.width);
      const auto to = y_block.target(y + offset);
#pragma omp simd
      for (std::int64_t i = 0; i < strip.width; ++i) {
        W value = (from[i] - middle.value[i]) * scale.value[i] + shift.value[i];
        if constexpr (with_residual) value += added[i];
        if constexpr (with_relu) value = value <= 0 ? W{0} : value;
        to[i] = value;
      }
      y_block.store(y + offset, strip.width);
    }
  };
  with_conditions(residual != nullptr, relu, [&](auto with_residual, auto with_relu) {
    parallel_ranges(threads, e.rows, grain_of(e), [&](Range rows) {
      for_each_strip(rows, e.channels,
                     [&](const Strip& strip) { strip_kernel(strip, with_residual, with_relu); });
    });
  });
}

/// What the backward pass reads and writes, typed.
template <class T>
struct BackwardTensors {
  const T* x;
  const T* y;  ///< null without an activation
  const T* dy;
  const Wide<T>* mean;
  const Wide<T>* inverse;
  T* dx;
  T* dresidual;  ///< may be null
};

/// Sums over the rows of the gradient before the activation, and of it times (x - mean).
template <class T>
void gradient_sums(const BackwardTensors<T>& t, const Extents& e, int parts,
                   const ChannelSums& sums) {
  using W = Wide<T>;
  const auto strip_kernel = [&](std::int64_t part, const Strip& strip, auto with_relu) {
    const Line<W> middle(strip, e.channels, [&](std::int64_t c) { return t.mean[c]; });
    Elements<T> x_block, y_block, dy_block;
    sum_lines<W>(sums, part, strip, [&](std::int64_t offset, W* a, W* b) {
      const auto x = x_block.read(t.x + offset, strip.width);
      const auto dy = dy_block.read(t.dy + offset, strip.width);
      typename Elements<T>::Reader y{};
      if constexpr (with_relu) y = y_block.read(t.y + offset, strip.width);
#pragma omp simd
      for (std::int64_t i = 0; i < strip.width; ++i) {
        W gradient = dy[i];
        if constexpr (with_relu) gradient = y[i] <= 0 ? W{0} : gradient;
        a[i] += gradient;
        b[i] += gradient * (x[i] - middle.value[i]);
      }
    });
  };
  with_conditions(t.y != nullptr, false, [&](auto with_relu, auto) {
    parallel_parts(parts, e.rows, grain_of(e), [&](int part, Range rows) {
      sums.clear(part);
      for_each_strip(rows, e.channels,
                     [&](const Strip& strip) { strip_kernel(part, strip, with_relu); });
    });
  });
  sums.total();
}

/// dx = gamma inverse (g - mean of g - (x - mean) inverse^2 mean of g (x - mean)), where g is the
/// gradient before the activation (Ioffe and Szegedy, ICML 2015, section 3).
template <class T>
void input_gradient(const BackwardTensors<T>& t, const Extents& e, int parts, const T* gamma,
                    const ChannelSums& sums) {
  using W = Wide<T>;
  const auto m = static_cast<double>(e.rows);
  const auto factor = [&](std::int64_t c) { return widen(gamma[c]) * t.inverse[c]; };
  const auto strip_kernel = [&](const Strip& strip, auto with_relu, auto with_residual) {
    const Line<W> middle(strip, e.channels, [&](std::int64_t c) { return t.mean[c]; });
    const Line<W> scale(strip, e.channels, factor);
    const Line<W> constant(strip, e.channels, [&](std::int64_t c) {
      return static_cast<W>(static_cast<double>(factor(c)) * sums.first(0)[c] / m);
    });
    const Line<W> slope(strip, e.channels, [&](std::int64_t c) {
      const auto inverse = static_cast<double>(t.inverse[c]);
      return static_cast<W>(static_cast<double>(factor(c)) * inverse * inverse * sums.second(0)[c] /
                            m);
    });
    Elements<T> x_block, y_block, dy_block, dx_block, residual_block;
    for (std::int64_t line = 0; line < strip.lines; ++line) {
      const std::int64_t offset = strip.offset + line * strip.step;
      const auto x = x_block.read(t.x + offset, strip.width);
      const auto dy = dy_block.read(t.dy + offset, strip.width);
      typename Elements<T>::Reader y{};
      if constexpr (with_relu) y = y_block.read(t.y + offset, strip.width);
      const auto dx = dx_block.target(t.dx + offset);
      typename Elements<T>::Writer dresidual{};
      if constexpr (with_residual) dresidual = residual_block.target(t.dresidual + offset);
#pragma omp simd
      for (std::int64_t i = 0; i < strip.width; ++i) {
        W gradient = dy[i];
        if constexpr (with_relu) gradient = y[i] <= 0 ? W{0} : gradient;
        dx[i] = gradient * scale.value[i] - constant.value[i] -
                (x[i] - middle.value[i]) * slope.value[i];
        if constexpr (with_residual) dresidual[i] = gradient;
      }
      dx_block.store(t.dx + offset, strip.width);
      if constexpr (with_residual) residual_block.store(t.dresidual + offset, strip.width);
    }
  };
  with_conditions(t.y != nullptr, t.dresidual != nullptr, [&](auto with_relu, auto with_residual) {
    parallel_ranges(parts, e.rows, grain_of(e), [&](Range rows) {
      for_each_strip(rows, e.channels,
                     [&](const Strip& strip) { strip_kernel(strip, with_relu, with_residual); });
    });
  });
}

template <class T>
const T* optional(const ConstTensor& tensor) {
  return tensor.absent() ? nullptr : tensor.as<T>();
}

}  // namespace

void CpuBackend::batch_norm(const BatchNormOptions& options, ConstTensor x,
                            const NormWeights& weights, ConstTensor residual,
                            const BatchNormState& state, Tensor y) {
  const Extents e = extents_of(x, weights.gamma);
  dispatch_float(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    statistics(threads_, arena_, options, x.as<T>(), e, state);
    const W* const mean = state.mean.as<W>();
    const W* const inverse = state.inverse.as<W>();
    normalize(
        threads_, options, x.as<T>(), e, weights, optional<T>(residual), y.as<T>(),
        [=](std::int64_t c) { return mean[c]; }, [=](std::int64_t c) { return inverse[c]; });
  });
}

void CpuBackend::batch_norm_evaluate(const BatchNormOptions& options, ConstTensor x,
                                     const NormWeights& weights, ConstTensor residual,
                                     const BatchNormState& state, Tensor y) {
  const Extents e = extents_of(x, weights.gamma);
  dispatch_float(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    const W* const mean = state.running_mean.as<W>();
    const W* const variance = state.running_variance.as<W>();
    normalize(
        threads_, options, x.as<T>(), e, weights, optional<T>(residual), y.as<T>(),
        [=](std::int64_t c) { return mean[c]; },
        [=, epsilon = options.epsilon](std::int64_t c) {
          return static_cast<W>(1 / std::sqrt(static_cast<double>(variance[c]) + epsilon));
        });
  });
}

void CpuBackend::batch_norm_backward(const BatchNormOptions& options, ConstTensor x, ConstTensor y,
                                     ConstTensor dy, ConstTensor gamma, const BatchNormState& state,
                                     Tensor dx, Tensor dresidual, const NormGradients& gradients) {
  const Extents e = extents_of(x, gamma);
  const int parts = parts_of(threads_, e.rows, grain_of(e));
  const ChannelSums sums(arena_, parts, e.channels);
  const bool relu = options.activation == Activation::relu;
  dispatch_float(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    const BackwardTensors<T> t{x.as<T>(),
                               relu ? y.as<T>() : nullptr,
                               dy.as<T>(),
                               state.mean.as<W>(),
                               state.inverse.as<W>(),
                               dx.as<T>(),
                               dresidual.absent() ? nullptr : dresidual.as<T>()};
    gradient_sums(t, e, parts, sums);
    W* const dgamma = gradients.gamma.as<W>();
    W* const dbeta = gradients.beta.as<W>();
    for (std::int64_t c = 0; c < e.channels; ++c) {
      dgamma[c] = static_cast<W>(sums.second(0)[c] * static_cast<double>(t.inverse[c]));
      dbeta[c] = static_cast<W>(sums.first(0)[c]);
    }
    input_gradient(t, e, parts, gamma.as<T>(), sums);
  });
}

}  // namespace trainbench
