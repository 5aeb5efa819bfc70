// Operations that draw random numbers: their words depend on seed, stream and index alone.

#include <cmath>

#include "common/core/dispatch.h"
#include "cpu/convert.h"
#include "cpu/cpu_backend.h"
#include "cpu/parallel.h"

namespace trainbench {
namespace {

/// Words first .. first + count - 1 of a stream; `first` is a multiple of four. `words` has room
/// for a whole number of fours.
void random_words(const Philox& random, std::int64_t first, std::int64_t count,
                  std::uint32_t* words) {
  const auto block = static_cast<std::uint64_t>(first) / 4;
  const std::int64_t blocks = (count + 3) / 4;
#pragma omp simd
  for (std::int64_t i = 0; i < blocks; ++i) {
    const PhiloxWords four = random.block(block + static_cast<std::uint64_t>(i));
    for (std::int64_t j = 0; j < 4; ++j) words[4 * i + j] = four.word[j];
  }
}

const StepState& state_of(const ConstTensor& state) {
  return *static_cast<const StepState*>(state.data);
}

}  // namespace

void CpuBackend::dropout(const DropoutOptions& options, Tensor x, ConstTensor state) {
  require(options.rate >= 0 && options.rate < 1, "a rate of dropout is in [0, 1)");
  const Philox random = random_stream(RandomSource::dropout, options.layer, state_of(state));
  const auto threshold = static_cast<std::uint64_t>(std::ceil(options.rate * 0x1p32));
  dispatch_float(x.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* data = x.as<T>();
    const auto scale = static_cast<Wide<T>>(1 / (1 - options.rate));
    parallel_ranges(threads_, x.elements(), kGrain, [=](Range range) {
      alignas(64) std::uint32_t words[kBlock];
      Block<T> block;
      for (std::int64_t i = range.first; i < range.last; i += kBlock) {
        const std::int64_t count = std::min(kBlock, range.last - i);
        random_words(random, i, count, words);
        Wide<T>* values = block.load(data + i, count);
#pragma omp simd
        for (std::int64_t j = 0; j < count; ++j) {
          values[j] = words[j] < threshold ? Wide<T>{0} : values[j] * scale;
        }
        block.store(data + i, count);
      }
    });
  });
}

void CpuBackend::diffuse(ConstTensor bytes, float scale, float shift, const DiffusionTables& tables,
                         ConstTensor state, Tensor noisy, Tensor noise, Tensor times) {
  const std::int64_t images = times.elements();
  require(bytes.elements() == noisy.elements() && noise.elements() == noisy.elements() &&
              noisy.elements() % std::max<std::int64_t>(images, 1) == 0,
          "one time an image, one number of noise a byte");
  const std::int64_t image = noisy.elements() / std::max<std::int64_t>(images, 1);
  const std::int64_t steps = tables.signal.elements();
  const Philox for_times = random_stream(RandomSource::diffusion_times, 0, state_of(state));
  std::int32_t* time = times.as<std::int32_t>();
  for (std::int64_t b = 0; b < images; ++b) {
    const std::uint64_t word = for_times.word(static_cast<std::uint64_t>(b));
    time[b] = static_cast<std::int32_t>(word * static_cast<std::uint64_t>(steps) >> 32);
  }
  const Philox random = random_stream(RandomSource::diffusion_noise, 0, state_of(state));
  const auto* byte = bytes.as<std::uint8_t>();
  const float* signal = tables.signal.as<float>();
  const float* spread = tables.noise.as<float>();
  const float* normal = tables.normal.as<float>();
  dispatch_float(noisy.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using W = Wide<T>;
    T* mixed = noisy.as<T>();
    T* drawn = noise.as<T>();
    parallel_ranges(threads_, noisy.elements(), kGrain, [=](Range range) {
      alignas(64) std::uint32_t words[kBlock / 2];
      for (std::int64_t i = range.first; i < range.last; i += kBlock) {
        const std::int64_t count = std::min(kBlock, range.last - i);
        random_words(random, i / 2, (count + 1) / 2, words);
        for (std::int64_t j = 0; j < count; ++j) {
          const W value = normal[(words[j / 2] >> (j % 2 * 16)) & 0xffffu];
          const std::int32_t t = time[(i + j) / image];
          const W x = static_cast<W>(byte[i + j]) * scale + shift;
          drawn[i + j] = narrow<T>(value);
          mixed[i + j] = narrow<T>(signal[t] * x + spread[t] * value);
        }
      }
    });
  });
}

}  // namespace trainbench
