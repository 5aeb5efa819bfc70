#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <vector>

#include "common/core/dispatch.h"
#include "cpu/convert.h"
#include "cpu/cpu_backend.h"
#include "cpu/parallel.h"

namespace trainbench {
namespace {

const StepState& read(ConstTensor state) { return *static_cast<const StepState*>(state.data); }
StepState& change(Tensor state) { return *static_cast<StepState*>(state.data); }

/// In double, over as many lanes as a few accumulators of any vector width need; one order for all.
template <class T>
double sum_of_squares(const T* x, std::int64_t count) {
  constexpr std::int64_t kLanes = 32;
  std::array<double, kLanes> lanes{};
  const auto add = [&lanes, x](std::int64_t first, std::int64_t length) {
#pragma omp simd
    for (std::int64_t lane = 0; lane < length; ++lane) {
      const auto value = static_cast<double>(widen(x[first + lane]));
      lanes[static_cast<std::size_t>(lane)] += value * value;
    }
  };
  const std::int64_t whole = count / kLanes * kLanes;
  for (std::int64_t first = 0; first < whole; first += kLanes) add(first, kLanes);
  add(whole, count - whole);
  return std::accumulate(lanes.begin(), lanes.end(), 0.0);
}

/// Runs body(first, count) on blocks of a flat buffer and then rounds that block of the master
/// weights to the copy that layers read, while it is in the cache.
template <class W, class Body>
void update_blocks(int threads, const ParameterUpdate& update, const Body& body) {
  const W* master = update.master.as<W>();
  const auto run = [&](auto* weights) {
    parallel_ranges(threads, update.master.elements(), kGrain, [=, &body](Range range) {
      constexpr std::int64_t kStride = 4 * kBlock;
      for (std::int64_t first = range.first; first < range.last; first += kStride) {
        const std::int64_t count = std::min(kStride, range.last - first);
        body(first, count);
        using T = std::remove_pointer_t<decltype(weights)>;
        if constexpr (!std::is_same_v<T, const W>) convert(master + first, weights + first, count);
      }
    });
  };
  if (update.weights.absent()) {
    run(master);
    return;
  }
  dispatch_float(update.weights.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (std::is_same_v<T, W> || std::is_same_v<W, double>) {
      throw std::logic_error("the copy of the master weights is narrower than they are");
    } else {
      run(update.weights.as<T>());
    }
  });
}

}  // namespace

void CpuBackend::check_finite(ConstTensor gradients, Tensor state) {
  dispatch_float(gradients.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Bits =
        std::conditional_t<sizeof(T) == 8, std::uint64_t,
                           std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint16_t>>;
    // An exponent of all ones is an Inf or a NaN.
    constexpr Bits kExponent = sizeof(T) == 8   ? static_cast<Bits>(0x7ff0000000000000u)
                               : sizeof(T) == 4 ? static_cast<Bits>(0x7f800000u)
                               : std::is_same_v<T, BFloat16> ? static_cast<Bits>(0x7f80u)
                                                             : static_cast<Bits>(0x7c00u);
    const T* x = gradients.as<T>();
    bool found = false;
#pragma omp parallel for schedule(static) num_threads(threads_) reduction(|| : found)
    for (std::int64_t block = 0; block < (gradients.elements() + kGrain - 1) / kGrain; ++block) {
      const std::int64_t last = std::min(gradients.elements(), (block + 1) * kGrain);
      Bits any = 0;
#pragma omp simd reduction(| : any)
      for (std::int64_t i = block * kGrain; i < last; ++i) {
        any |= static_cast<Bits>((std::bit_cast<Bits>(x[i]) & kExponent) == kExponent);
      }
      found = found || any != 0;
    }
    if (found) change(state).nonfinite = 1;
  });
}

void CpuBackend::clip_gradients(ConstTensor gradients, double max_norm, Tensor state) {
  // A number of parts that no thread count changes: the same bits for all of them.
  constexpr int kParts = 64;
  std::array<double, kParts> sums{};
  dispatch_float(gradients.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* x = gradients.as<T>();
    const std::int64_t count = gradients.elements();
    parallel_ranges(count > kGrain ? threads_ : 1, kParts, 1, [=, &sums](Range parts) {
      for (std::int64_t part = parts.first; part < parts.last; ++part) {
        const Range range = part_of(count, 1, part, kParts);
        sums[static_cast<std::size_t>(part)] =
            sum_of_squares(x + range.first, range.last - range.first);
      }
    });
  });
  StepState& step = change(state);
  step.clip_factor = 1;
  const double total = std::accumulate(sums.begin(), sums.end(), 0.0);
  set_clip(step, std::sqrt(total) * static_cast<double>(step.gradient_factor()), max_norm);
}

void CpuBackend::sgd(const SgdOptions& options, const ParameterUpdate& update, Tensor velocity,
                     ConstTensor state) {
  if (read(state).nonfinite != 0) return;
  dispatch_float(update.master.dtype, [&](auto tag) {
    using W = Wide<typename decltype(tag)::type>;
    const W unscale = static_cast<W>(read(state).gradient_factor());
    const W rate = static_cast<W>(read(state).learning_rate);
    const W momentum = static_cast<W>(options.momentum);
    const W decay = static_cast<W>(options.weight_decay);
    W* __restrict w = update.master.as<W>();
    W* __restrict v = velocity.as<W>();
    const W* __restrict g = update.gradient.as<W>();
    update_blocks<W>(threads_, update, [=](std::int64_t first, std::int64_t count) {
#pragma omp simd
      for (std::int64_t i = first; i < first + count; ++i) {
        v[i] = momentum * v[i] + (g[i] * unscale + decay * w[i]);
        w[i] -= rate * v[i];
      }
    });
  });
}

void CpuBackend::adamw(const AdamOptions& options, const ParameterUpdate& update,
                       Tensor first_moment, Tensor second_moment, ConstTensor state) {
  if (read(state).nonfinite != 0) return;
  dispatch_float(update.master.dtype, [&](auto tag) {
    using W = Wide<typename decltype(tag)::type>;
    const double rate = read(state).learning_rate;
    const double updates = read(state).step + 1;
    const W unscale = static_cast<W>(read(state).gradient_factor());
    const W keep = static_cast<W>(1 - rate * options.weight_decay);
    const W size = static_cast<W>(rate / (1 - std::pow(options.beta1, updates)));
    const W correction = static_cast<W>(1 / std::sqrt(1 - std::pow(options.beta2, updates)));
    const W beta1 = static_cast<W>(options.beta1);
    const W beta2 = static_cast<W>(options.beta2);
    const W rest1 = static_cast<W>(1 - options.beta1);
    const W rest2 = static_cast<W>(1 - options.beta2);
    const W epsilon = static_cast<W>(options.epsilon);
    W* __restrict w = update.master.as<W>();
    W* __restrict m = first_moment.as<W>();
    W* __restrict v = second_moment.as<W>();
    const W* __restrict g = update.gradient.as<W>();
    update_blocks<W>(threads_, update, [=](std::int64_t first, std::int64_t count) {
#pragma omp simd
      for (std::int64_t i = first; i < first + count; ++i) {
        const W gradient = g[i] * unscale;
        m[i] = beta1 * m[i] + rest1 * gradient;
        v[i] = beta2 * v[i] + rest2 * gradient * gradient;
        w[i] = keep * w[i] - size * m[i] / (std::sqrt(v[i]) * correction + epsilon);
      }
    });
  });
}

void CpuBackend::finish_step(const LossScaling& scaling, Tensor state) {
  StepState& s = change(state);
  if (s.nonfinite != 0) {
    ++s.skipped_steps;
    s.clean_steps = 0;
    if (scaling.enabled) s.loss_scale *= scaling.backoff;
  } else {
    ++s.step;
    ++s.clean_steps;
    if (scaling.enabled && s.clean_steps >= scaling.growth_interval) {
      const float grown = s.loss_scale * scaling.growth;
      if (std::isfinite(grown)) s.loss_scale = grown;
      s.clean_steps = 0;
    }
  }
  s.nonfinite = 0;
}

}  // namespace trainbench
