#include <cmath>

#include "gpu/vector.cuh"

namespace trainbench::gpu {
namespace {

template <int N, class T>
__global__ void __launch_bounds__(kBlock)
    check_finite_kernel(const T* gradients, StepState* state, std::int64_t count) {
  bool finite = true;
  for_packs<N>(count, [&](auto width, std::int64_t i) {
    constexpr int kWidth = decltype(width)::value;
    const auto pack = Pack<T, kWidth>::load(gradients + i);
#pragma unroll
    for (int lane = 0; lane < kWidth; ++lane) {
      finite = finite && isfinite(convert<Accumulator<T>>(pack.lane[lane]));
    }
  });
  // Every thread that writes writes the same value, so their order does not matter.
  if (!finite) state->nonfinite = 1;
}

/// partial[blockIdx.x] = this block's share of the sum of squares. A thread's own terms are few and
/// positive, so that its float sum loses little; the threads' sums are added in double.
template <int N, class T>
__global__ void __launch_bounds__(kBlock)
    square_sums_kernel(const T* gradients, double* partial, std::int64_t count) {
  using Acc = Accumulator<T>;
  Acc sum = 0;
  for_packs<N>(count, [&](auto width, std::int64_t i) {
    constexpr int kWidth = decltype(width)::value;
    const auto pack = Pack<T, kWidth>::load(gradients + i);
#pragma unroll
    for (int lane = 0; lane < kWidth; ++lane) {
      const Acc value = convert<Acc>(pack.lane[lane]);
      sum += value * value;
    }
  });
  const double total = reduce_group<kBlock>(static_cast<double>(sum), Add{});
  if (threadIdx.x == 0) partial[blockIdx.x] = total;
}

__global__ void __launch_bounds__(kBlock)
    set_clip_kernel(const double* partial, int parts, double max_norm, StepState* state) {
  double sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < parts; i += kBlock) sum += partial[i];
  sum = reduce_group<kBlock>(sum, Add{});
  if (threadIdx.x != 0) return;
  state->clip_factor = 1;
  set_clip(*state, sqrt(sum) * static_cast<double>(state->gradient_factor()), max_norm);
}

/// Pointers of one update; `weights` is null where layers read the master.
template <class Master, class Weight>
struct Operands {
  Master* master;
  Weight* weights;
  const Master* gradient;
  Master* first;
  Master* second;
  std::int64_t count;
};

/// v = momentum v + (g + decay w); w -= rate v.
template <class T>
struct SgdRule {
  T momentum;
  T decay;

  struct Step {
    T rate;
    T unscale;
  };
  __device__ Step step(const StepState& state) const {
    return {static_cast<T>(state.learning_rate), static_cast<T>(state.gradient_factor())};
  }
  static constexpr bool kSecondMoment = false;

  __device__ void apply(const Step& step, T gradient, T& weight, T& velocity, T&) const {
    velocity = momentum * velocity + (gradient * step.unscale + decay * weight);
    weight -= step.rate * velocity;
  }
};

/// Algorithm 2 of Loshchilov and Hutter. The bias corrections 1 - beta^t are formed as
/// -expm1(t log beta), which keeps their digits where beta^t is close to 1.
template <class T>
struct AdamRule {
  T beta1;
  T beta2;
  T complement1;  // 1 - beta1, formed in double: in float 1 - 0.999 has lost four digits
  T complement2;
  T log_beta1;
  T log_beta2;
  T epsilon;
  T decay;

  struct Step {
    T rate;
    T unscale;
    T correction1;
    T correction2;
  };
  __device__ Step step(const StepState& state) const {
    const T t = static_cast<T>(state.step + 1);
    return {static_cast<T>(state.learning_rate), static_cast<T>(state.gradient_factor()),
            T{-1} / expm1(t * log_beta1), T{-1} / expm1(t * log_beta2)};
  }
  static constexpr bool kSecondMoment = true;

  __device__ void apply(const Step& step, T scaled_gradient, T& weight, T& first, T& second) const {
    const T gradient = scaled_gradient * step.unscale;
    first = beta1 * first + complement1 * gradient;
    second = beta2 * second + complement2 * gradient * gradient;
    const T direction = first * step.correction1 / (sqrt(second * step.correction2) + epsilon);
    weight -= step.rate * (direction + decay * weight);
  }
};

template <int N, class Rule, class Master, class Weight>
__global__ void __launch_bounds__(kBlock)
    update_kernel(Rule rule, Operands<Master, Weight> operands, const StepState* state) {
  if (state->nonfinite != 0) return;
  const typename Rule::Step step = rule.step(*state);
  for_packs<N>(operands.count, [=](auto width, std::int64_t i) {
    constexpr int kWidth = decltype(width)::value;
    const auto gradient = Pack<Master, kWidth>::load(operands.gradient + i);
    auto master = Pack<Master, kWidth>::load(operands.master + i);
    auto first = Pack<Master, kWidth>::load(operands.first + i);
    Pack<Master, kWidth> second{};
    if constexpr (Rule::kSecondMoment) {
      second = Pack<Master, kWidth>::load(operands.second + i);
    }
#pragma unroll
    for (int lane = 0; lane < kWidth; ++lane) {
      rule.apply(step, gradient.lane[lane], master.lane[lane], first.lane[lane], second.lane[lane]);
    }
    master.store(operands.master + i);
    first.store(operands.first + i);
    if constexpr (Rule::kSecondMoment) second.store(operands.second + i);
    if (operands.weights == nullptr) return;
    Pack<Weight, kWidth> weights;
#pragma unroll
    for (int lane = 0; lane < kWidth; ++lane) {
      weights.lane[lane] = convert<Weight>(master.lane[lane]);
    }
    weights.store(operands.weights + i);
  });
}

__global__ void finish_step_kernel(LossScaling scaling, StepState* state) {
  StepState s = *state;
  float scale = s.loss_scale;
  if (s.nonfinite != 0) {
    ++s.skipped_steps;
    s.clean_steps = 0;
    scale *= scaling.backoff;
  } else {
    ++s.step;
    ++s.clean_steps;
    if (scaling.enabled && s.clean_steps >= scaling.growth_interval) {
      scale *= scaling.growth;
      s.clean_steps = 0;
    }
  }
  if (scaling.enabled && isfinite(scale)) s.loss_scale = scale;
  s.nonfinite = 0;
  *state = s;
}

/// Runs `rule` over an update's operands with the widest accesses they allow.
template <class Master, class Rule>
void launch_update(const Queue& queue, const Rule& rule, const ParameterUpdate& update,
                   Tensor first, Tensor second, ConstTensor state) {
  require(update.gradient.dtype == update.master.dtype && first.dtype == update.master.dtype,
          "gradients and optimizer state have the master dtype");
  const std::int64_t count = update.master.elements();
  require(update.gradient.elements() == count && first.elements() == count,
          "an update's ranges have equal elements");
  const bool vector = aligned(update.master.data, update.weights.data, update.gradient.data,
                              first.data, second.data);
  const DType weight_dtype = update.weights.absent() ? update.master.dtype : update.weights.dtype;
  dispatch_float(weight_dtype, [&](auto tag) {
    using Weight = DeviceElement<decltype(tag)>;
    const Operands<Master, Weight> operands{
        elements_of<Master>(update.master),   elements_of<Weight>(update.weights),
        elements_of<Master>(update.gradient), elements_of<Master>(first),
        elements_of<Master>(second),          count};
    dispatch_width(vector, [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      update_kernel<kWidth><<<grid_size(queue, count / kWidth), kBlock, 0, queue.stream>>>(
          rule, operands, elements_of<StepState>(state));
    });
  });
  TRAINBENCH_LAUNCHED();
}

/// Calls `f` with the tag of a master dtype, f32 or f64.
template <class F>
void dispatch_master(DType dtype, F&& f) {
  require(dtype == DType::f32 || dtype == DType::f64, "the master dtype is f32 or f64");
  if (dtype == DType::f32) {
    f(TypeTag<float>{});
  } else {
    f(TypeTag<double>{});
  }
}

}  // namespace

void check_finite(const Queue& queue, ConstTensor gradients, Tensor state) {
  const std::int64_t count = gradients.elements();
  dispatch_float(gradients.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    dispatch_width(aligned(gradients.data), [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      check_finite_kernel<kWidth><<<grid_size(queue, count / kWidth), kBlock, 0, queue.stream>>>(
          elements_of<T>(gradients), elements_of<StepState>(state), count);
    });
  });
  TRAINBENCH_LAUNCHED();
}

void clip_gradients(const Queue& queue, ConstTensor gradients, double max_norm, Tensor state) {
  const std::int64_t count = gradients.elements();
  auto* const partial = static_cast<double*>(queue.scratch);
  dispatch_float(gradients.dtype, [&](auto tag) {
    using T = DeviceElement<decltype(tag)>;
    dispatch_width(aligned(gradients.data), [&](auto width) {
      constexpr int kWidth = decltype(width)::value;
      const unsigned blocks = grid_size(queue, count / kWidth);
      require(blocks * sizeof(double) <= queue.scratch_bytes, "partial sums fit in the scratch");
      square_sums_kernel<kWidth>
          <<<blocks, kBlock, 0, queue.stream>>>(elements_of<T>(gradients), partial, count);
      set_clip_kernel<<<1, kBlock, 0, queue.stream>>>(partial, static_cast<int>(blocks), max_norm,
                                                      elements_of<StepState>(state));
    });
  });
  TRAINBENCH_LAUNCHED();
}

void sgd(const Queue& queue, const SgdOptions& options, const ParameterUpdate& update,
         Tensor velocity, ConstTensor state) {
  dispatch_master(update.master.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const SgdRule<T> rule{static_cast<T>(options.momentum), static_cast<T>(options.weight_decay)};
    launch_update<T>(queue, rule, update, velocity, {}, state);
  });
}

void adamw(const Queue& queue, const AdamOptions& options, const ParameterUpdate& update,
           Tensor first_moment, Tensor second_moment, ConstTensor state) {
  dispatch_master(update.master.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const AdamRule<T> rule{
        static_cast<T>(options.beta1),           static_cast<T>(options.beta2),
        static_cast<T>(1 - options.beta1),       static_cast<T>(1 - options.beta2),
        static_cast<T>(std::log(options.beta1)), static_cast<T>(std::log(options.beta2)),
        static_cast<T>(options.epsilon),         static_cast<T>(options.weight_decay)};
    launch_update<T>(queue, rule, update, first_moment, second_moment, state);
  });
}

void finish_step(const Queue& queue, const LossScaling& scaling, Tensor state) {
  finish_step_kernel<<<1, 1, 0, queue.stream>>>(scaling, elements_of<StepState>(state));
  TRAINBENCH_LAUNCHED();
}

}  // namespace trainbench::gpu
