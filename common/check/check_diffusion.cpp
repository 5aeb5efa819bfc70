#include <cmath>

#include "common/check/check_backend.h"
#include "common/check/expected.h"
#include "common/check/reference.h"

namespace trainbench {

void CheckBackend::dropout(const DropoutOptions& options, Tensor x, ConstTensor state) {
  const Held before = hold(x);
  const Philox random = random_stream(RandomSource::dropout, options.layer, state_of(state));
  inner_.dropout(options, x, state);
  const double u = working_roundoff(accumulator_of(x.dtype));
  compare(named("dropout", x.dtype), "x", x, [&](std::int64_t i) {
    if (random.uniform(static_cast<std::uint64_t>(i)) < options.rate) return Expected{0, 0};
    const double value = (*before)[i] / (1 - options.rate);
    return stored(x.dtype, {value, 2 * u * std::abs(value)});
  });
}

void CheckBackend::diffuse(ConstTensor bytes, float scale, float shift,
                           const DiffusionTables& tables, ConstTensor state, Tensor noisy,
                           Tensor noise, Tensor times) {
  const Held pixels = hold(bytes);
  const Held signal = hold(tables.signal);
  const Held spread = hold(tables.noise);
  const Held normal = hold(tables.normal);
  const StepState scalars = state_of(state);
  inner_.diffuse(bytes, scale, shift, tables, state, noisy, noise, times);

  const Philox for_times = random_stream(RandomSource::diffusion_times, 0, scalars);
  const Philox for_noise = random_stream(RandomSource::diffusion_noise, 0, scalars);
  const std::int64_t image = noisy.elements() / times.elements();
  const auto time_of = [&](std::int64_t b) {
    return static_cast<std::int64_t>(for_times.uniform(static_cast<std::uint64_t>(b)) *
                                     static_cast<double>(signal->elements()));
  };
  const auto noise_of = [&](std::int64_t i) {
    const std::uint32_t word = for_noise.word(static_cast<std::uint64_t>(i / 2));
    return (*normal)[i % 2 == 0 ? word % 65536 : word / 65536];
  };
  const std::string operation = named("diffuse", noisy.dtype);
  const double u = working_roundoff(accumulator_of(noisy.dtype));
  compare(operation, "times", times, [&](std::int64_t b) {
    return Expected{static_cast<double>(time_of(b)), 0};
  });
  compare(operation, "noise", noise, [&](std::int64_t i) {
    return stored(noise.dtype, {noise_of(i), 0});
  });
  compare(operation, "noisy", noisy, [&](std::int64_t i) {
    const std::int64_t time = time_of(i / image);
    const double scaled = (*pixels)[i] * static_cast<double>(scale);
    const double x = scaled + static_cast<double>(shift);
    const double kept = (*signal)[time] * x;
    const double added = (*spread)[time] * noise_of(i);
    const double error = (*signal)[time] * (std::abs(scaled) + std::abs(x)) + std::abs(kept) +
                         std::abs(added) + std::abs(kept + added);
    return stored(noisy.dtype, {kept + added, u * error});
  });
}

void CheckBackend::mean_squared_error(ConstTensor prediction, ConstTensor target, Tensor losses,
                                      Tensor gradient, ConstTensor state) {
  const Held predicted = hold(prediction);
  const Held right = hold(target);
  const double scale = static_cast<double>(state_of(state).loss_scale);
  inner_.mean_squared_error(prediction, target, losses, gradient, state);
  const std::int64_t sample = prediction.elements() / prediction.shape[0];
  const auto count = static_cast<double>(sample);
  const auto difference = [&](std::int64_t i) { return (*predicted)[i] - (*right)[i]; };
  const std::string operation = named("mean_squared_error", prediction.dtype);
  const DType accumulator = accumulator_of(prediction.dtype);
  const double u = working_roundoff(accumulator);
  compare(operation, "losses", losses, [&](std::int64_t row) {
    Sum squares;
    for (std::int64_t i = row * sample; i < (row + 1) * sample; ++i) {
      squares.add(difference(i) * difference(i));
    }
    const double error =
        summation_error(sample, accumulator, squares.value) + 4 * u * squares.value;
    return stored(losses.dtype, {squares.value / count, error / count});
  });
  const double factor = 2 * scale / static_cast<double>(prediction.elements());
  compare(operation, "gradient", gradient, [&](std::int64_t i) {
    const double value = difference(i) * factor;
    return stored(gradient.dtype, {value, 4 * u * std::abs(value)});
  });
}

}  // namespace trainbench
