#include <cmath>

#include "common/core/dispatch.h"
#include "cpu/activations.h"
#include "cpu/channel_strips.h"
#include "cpu/cpu_backend.h"

namespace trainbench {
namespace {

/// Extents of x[b, h, w, c], and of a group: its channels, and their elements in an image.
struct Extents {
  std::int64_t images;
  std::int64_t pixels;
  std::int64_t channels;
  std::int64_t groups;
  std::int64_t width;
  double count;

  std::int64_t elements() const { return pixels * channels; }
  Range rows(std::int64_t image) const { return {image * pixels, (image + 1) * pixels}; }
};

Extents extents_of(const GroupNormOptions& options, const ConstTensor& x) {
  require(x.shape.rank() == 4, "a group norm works on images");
  const std::int64_t channels = x.shape[3];
  const std::int64_t pixels = x.shape[1] * x.shape[2];
  require(options.groups > 0 && channels % options.groups == 0, "groups have equal channels");
  require(options.activation == Activation::none || options.activation == Activation::silu,
          "a group norm applies SiLU or nothing");
  const std::int64_t width = channels / options.groups;
  return {x.shape[0], pixels, channels, options.groups, width, static_cast<double>(pixels * width)};
}

/// Two sums for each channel of an image, and room for dz, which a thread's images share.
template <class W>
struct Workspace {
  double* first;   ///< [channels]
  double* second;  ///< [channels]
  W* dz;           ///< [pixels, channels]
};

/// Adds the lines' lanes to their channels' sums.
template <class W>
void add_lanes(const Strip& strip, std::int64_t channels, const W* lanes, double* sums) {
  const std::int64_t period = std::min(strip.width, channels);
  for (std::int64_t i = 0; i < strip.width; i += period) {
    for (std::int64_t j = 0; j < period; ++j) {
      sums[strip.channel + j] += static_cast<double>(lanes[i + j]);
    }
  }
}

/// The sum of a group's channels.
double group_sum(const double* channels, const Extents& e, std::int64_t group) {
  double sum = 0;
  for (std::int64_t c = group * e.width; c < (group + 1) * e.width; ++c) sum += channels[c];
  return sum;
}

/// Mean and 1 / sqrt(variance + epsilon) of each group of an image, in two passes over it: about
/// the mean nothing cancels, and the second pass finds the image in the cache.
template <class T>
void statistics(const T* x, const Extents& e, double epsilon, std::int64_t image,
                const Workspace<Wide<T>>& space, Wide<T>* mean, Wide<T>* inverse) {
  using W = Wide<T>;
  std::fill_n(space.first, 2 * e.channels, 0.0);
  for_each_strip(e.rows(image), e.channels, [&](const Strip& strip) {
    alignas(64) W lanes[kBlock] = {};
    Elements<T> block;
    for (std::int64_t line = 0; line < strip.lines; ++line) {
      const auto values = block.read(x + strip.offset + line * strip.step, strip.width);
#pragma omp simd
      for (std::int64_t i = 0; i < strip.width; ++i) lanes[i] += values[i];
    }
    add_lanes(strip, e.channels, lanes, space.first);
  });
  for (std::int64_t g = 0; g < e.groups; ++g) {
    mean[g] = static_cast<W>(group_sum(space.first, e, g) / e.count);
  }
  for_each_strip(e.rows(image), e.channels, [&](const Strip& strip) {
    const Line<W> middle(strip, e.channels, [&](std::int64_t c) { return mean[c / e.width]; });
    alignas(64) W lanes[kBlock] = {};
    Elements<T> block;
    for (std::int64_t line = 0; line < strip.lines; ++line) {
      const auto values = block.read(x + strip.offset + line * strip.step, strip.width);
#pragma omp simd
      for (std::int64_t i = 0; i < strip.width; ++i) {
        const W deviation = values[i] - middle.value[i];
        lanes[i] += deviation * deviation;
      }
    }
    add_lanes(strip, e.channels, lanes, space.second);
  });
  for (std::int64_t g = 0; g < e.groups; ++g) {
    const double variance = group_sum(space.second, e, g) / e.count;
    inverse[g] = static_cast<W>(1 / std::sqrt(variance + epsilon));
  }
}

/// One image's mean, 1 / deviation, weight and bias, laid out for a strip's lines.
template <class T>
struct Factors {
  using W = Wide<T>;
  Line<W> mean;
  Line<W> scale;  ///< gamma / deviation
  Line<W> beta;

  Factors(const Strip& strip, const Extents& e, const T* gamma, const T* shift, const W* means,
          const W* inverses)
      : mean(strip, e.channels, [&](std::int64_t c) { return means[c / e.width]; }),
        scale(strip, e.channels,
              [&](std::int64_t c) { return inverses[c / e.width] * widen(gamma[c]); }),
        beta(strip, e.channels, [&](std::int64_t c) { return widen(shift[c]); }) {}

  W normal(W x, std::int64_t i) const {
    return (x - mean.value[i]) * scale.value[i] + beta.value[i];
  }
};

template <bool kSilu, class T>
void normalize(const Strip& strip, const Factors<T>& factors, const T* x, T* y) {
  using W = Wide<T>;
  Elements<T> in;
  Elements<T> out;
  for (std::int64_t line = 0; line < strip.lines; ++line) {
    const std::int64_t offset = strip.offset + line * strip.step;
    const auto values = in.read(x + offset, strip.width);
    const auto result = out.target(y + offset);
#pragma omp simd
    for (std::int64_t i = 0; i < strip.width; ++i) {
      const W z = factors.normal(values[i], i);
      result[i] = kSilu ? z * Silu<W>::logistic(z) : z;
    }
    out.store(y + offset, strip.width);
  }
}

/// Operands of the backward pass, and where it is in them.
template <class T>
struct Backward {
  using W = Wide<T>;
  const Extents& e;
  const T* x;
  const T* dy;
  const T* gamma;
  const T* beta;
  const W* mean;
  const W* inverse;
  T* dx;
};

/// Sums over an image's pixels of dz and of dz times the normalised x, for each channel; dz, the
/// gradient before the activation, is kept where there is one.
template <bool kSilu, class T>
void image_sums(const Backward<T>& pass, std::int64_t image, const Workspace<Wide<T>>& space) {
  using W = Wide<T>;
  const Extents& e = pass.e;
  const W* mean = pass.mean + image * e.groups;
  const W* inverse = pass.inverse + image * e.groups;
  std::fill_n(space.first, 2 * e.channels, 0.0);
  for_each_strip(e.rows(image), e.channels, [&](const Strip& strip) {
    const Factors<T> factors(strip, e, pass.gamma, pass.beta, mean, inverse);
    const Line<W> deviation(strip, e.channels,
                            [&](std::int64_t c) { return inverse[c / e.width]; });
    alignas(64) W sums[kBlock] = {};
    alignas(64) W products[kBlock] = {};
    Elements<T> x_block;
    Elements<T> dy_block;
    for (std::int64_t line = 0; line < strip.lines; ++line) {
      const std::int64_t offset = strip.offset + line * strip.step;
      const auto x = x_block.read(pass.x + offset, strip.width);
      const auto dy = dy_block.read(pass.dy + offset, strip.width);
      W* dz = space.dz + offset - image * e.elements();
#pragma omp simd
      for (std::int64_t i = 0; i < strip.width; ++i) {
        W gradient = dy[i];
        if constexpr (kSilu) {
          gradient *= Silu<W>::slope(factors.normal(x[i], i));
          dz[i] = gradient;
        }
        sums[i] += gradient;
        products[i] += gradient * ((x[i] - factors.mean.value[i]) * deviation.value[i]);
      }
    }
    add_lanes(strip, e.channels, sums, space.first);
    add_lanes(strip, e.channels, products, space.second);
  });
}

/// dx = (gamma dz - mean(gamma dz) - normal mean(gamma dz normal)) / deviation, the means over the
/// group.
template <bool kSilu, class T>
void image_gradient(const Backward<T>& pass, std::int64_t image, const Workspace<Wide<T>>& space,
                    bool accumulate) {
  using W = Wide<T>;
  const Extents& e = pass.e;
  const W* mean = pass.mean + image * e.groups;
  const W* inverse = pass.inverse + image * e.groups;
  const auto group_mean = [&](const double* sums, std::int64_t group) {
    double sum = 0;
    for (std::int64_t c = group * e.width; c < (group + 1) * e.width; ++c) {
      sum += static_cast<double>(widen(pass.gamma[c])) * sums[c];
    }
    return sum / e.count;
  };
  for_each_strip(e.rows(image), e.channels, [&](const Strip& strip) {
    const auto line_of = [&](auto of) { return Line<W>(strip, e.channels, of); };
    const Line<W> middle = line_of([&](std::int64_t c) { return mean[c / e.width]; });
    const Line<W> of_dz =
        line_of([&](std::int64_t c) { return inverse[c / e.width] * widen(pass.gamma[c]); });
    const Line<W> of_x = line_of([&](std::int64_t c) {
      const W deviation = inverse[c / e.width];
      return -deviation * deviation * static_cast<W>(group_mean(space.second, c / e.width));
    });
    const Line<W> constant = line_of([&](std::int64_t c) {
      return -inverse[c / e.width] * static_cast<W>(group_mean(space.first, c / e.width));
    });
    Elements<T> x_block;
    Elements<T> dy_block;
    Elements<T> dx_block;
    for (std::int64_t line = 0; line < strip.lines; ++line) {
      const std::int64_t offset = strip.offset + line * strip.step;
      const auto x = x_block.read(pass.x + offset, strip.width);
      const auto dz = [&] {
        if constexpr (kSilu) {
          return static_cast<const W*>(space.dz + offset - image * e.elements());
        } else {
          return dy_block.read(pass.dy + offset, strip.width);
        }
      }();
      const auto through = [&](std::int64_t i) {
        return of_dz.value[i] * dz[i] + of_x.value[i] * (x[i] - middle.value[i]) +
               constant.value[i];
      };
      if (accumulate) {
        const auto dx = dx_block.load(pass.dx + offset, strip.width);
#pragma omp simd
        for (std::int64_t i = 0; i < strip.width; ++i) dx[i] += through(i);
      } else {
        const auto dx = dx_block.target(pass.dx + offset);
#pragma omp simd
        for (std::int64_t i = 0; i < strip.width; ++i) dx[i] = through(i);
      }
      dx_block.store(pass.dx + offset, strip.width);
    }
  });
}

/// Calls body(image, workspace) on all images; a thread's images follow each other. Returns the
/// sums, [b, 2, c].
template <class W, class Body>
const double* for_each_image(int threads, Arena& arena, const Extents& e, bool with_dz,
                             const Body& body) {
  const auto parts = static_cast<int>(std::clamp<std::int64_t>(e.images, 1, threads));
  const auto sums = static_cast<std::size_t>(2 * e.images * e.channels) * sizeof(double);
  const std::size_t dz =
      with_dz ? static_cast<std::size_t>(e.elements()) * sizeof(W) * static_cast<std::size_t>(parts)
              : 0;
  auto* const first = static_cast<double*>(arena.scratch(Scratch::pass, sums + dz));
  auto* const images_of_threads = reinterpret_cast<W*>(first + 2 * e.images * e.channels);
  parallel_ranges(parts, parts, 1, [&](Range range) {
    for (std::int64_t part = range.first; part < range.last; ++part) {
      const Range images = part_of(e.images, 1, part, parts);
      for (std::int64_t image = images.first; image < images.last; ++image) {
        double* const own = first + 2 * image * e.channels;
        body(image, Workspace<W>{own, own + e.channels, images_of_threads + part * e.elements()});
      }
    }
  });
  return first;
}

}  // namespace

void CpuBackend::group_norm(const GroupNormOptions& options, ConstTensor x,
                            const NormWeights& weights, Tensor mean, Tensor inverse, Tensor y) {
  const Extents e = extents_of(options, x);
  require(mean.elements() == e.images * e.groups && inverse.elements() == mean.elements(),
          "a group norm has statistics for each group of an image");
  dispatch_float(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    for_each_image<W>(threads_, arena_, e, false, [&](std::int64_t image, const auto& space) {
      W* means = mean.as<W>() + image * e.groups;
      W* inverses = inverse.as<W>() + image * e.groups;
      statistics(x.as<T>(), e, options.epsilon, image, space, means, inverses);
      for_each_strip(e.rows(image), e.channels, [&](const Strip& strip) {
        const Factors<T> factors(strip, e, weights.gamma.as<T>(), weights.beta.as<T>(), means,
                                 inverses);
        if (options.activation == Activation::silu) {
          normalize<true>(strip, factors, x.as<T>(), y.as<T>());
        } else {
          normalize<false>(strip, factors, x.as<T>(), y.as<T>());
        }
      });
    });
  });
}

void CpuBackend::group_norm_backward(const GroupNormOptions& options, ConstTensor x, ConstTensor dy,
                                     const NormWeights& weights, ConstTensor mean,
                                     ConstTensor inverse, bool accumulate, Tensor dx,
                                     const NormGradients& gradients) {
  const Extents e = extents_of(options, x);
  const bool silu = options.activation == Activation::silu;
  dispatch_float(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    const Backward<T> pass{e,
                           x.as<T>(),
                           dy.as<T>(),
                           weights.gamma.as<T>(),
                           weights.beta.as<T>(),
                           mean.as<W>(),
                           inverse.as<W>(),
                           dx.as<T>()};
    const double* const sums =
        for_each_image<W>(threads_, arena_, e, silu, [&](std::int64_t image, const auto& space) {
          if (silu) {
            image_sums<true>(pass, image, space);
            image_gradient<true>(pass, image, space, accumulate);
          } else {
            image_sums<false>(pass, image, space);
            image_gradient<false>(pass, image, space, accumulate);
          }
        });
    for (std::int64_t c = 0; c < e.channels; ++c) {
      double dbeta = 0;
      double dgamma = 0;
      for (std::int64_t image = 0; image < e.images; ++image) {
        dbeta += sums[image * 2 * e.channels + c];
        dgamma += sums[(image * 2 + 1) * e.channels + c];
      }
      gradients.beta.as<W>()[c] = static_cast<W>(dbeta);
      gradients.gamma.as<W>()[c] = static_cast<W>(dgamma);
    }
  });
}

}  // namespace trainbench
