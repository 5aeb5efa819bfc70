#include "cpu/convert.h"

#include <cstring>

#include "common/core/dispatch.h"
#include "cpu/cpu_backend.h"
#include "cpu/parallel.h"

#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace trainbench {

// F16C's instructions round as Float16 does; compilers do not find them in its integer arithmetic.
void convert(const Float16* from, float* to, std::int64_t count) {
  std::int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= count; i += 8) {
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(half));
  }
#endif
  for (; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

void convert(const float* from, Float16* to, std::int64_t count) {
  std::int64_t i = 0;
#if defined(__F16C__)
  for (; i + 8 <= count; i += 8) {
    const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), half);
  }
#endif
  for (; i < count; ++i) to[i] = Float16(from[i]);
}

void convert(const BFloat16* from, float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = static_cast<float>(from[i]);
}

void convert(const float* from, BFloat16* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = BFloat16(from[i]);
}

namespace {

template <class From, class To>
void cast_range(const From* from, To* to, std::int64_t count) {
  if constexpr (std::is_same_v<From, To>) {
    std::memcpy(to, from, static_cast<std::size_t>(count) * sizeof(To));
  } else if constexpr (requires { convert(from, to, count); }) {
    convert(from, to, count);
  } else {
    // Between the 16-bit types, and between them and double, by way of float.
    float middle[kBlock];
    for (std::int64_t i = 0; i < count; i += kBlock) {
      const std::int64_t n = std::min(kBlock, count - i);
      convert(from + i, middle, n);
      convert(middle, to + i, n);
    }
  }
}

}  // namespace

void cast_elements(int threads, ConstTensor from, Tensor to) {
  require(from.elements() == to.elements(), "a cast keeps the number of elements");
  dispatch_float(from.dtype, [&](auto from_tag) {
    using From = typename decltype(from_tag)::type;
    dispatch_float(to.dtype, [&](auto to_tag) {
      using To = typename decltype(to_tag)::type;
      const From* source = from.as<From>();
      To* target = to.as<To>();
      parallel_ranges(threads, to.elements(), kGrain, [=](Range range) {
        cast_range(source + range.first, target + range.first, range.last - range.first);
      });
    });
  });
}

void CpuBackend::cast(ConstTensor from, Tensor to) { cast_elements(threads_, from, to); }

void CpuBackend::normalize_bytes(ConstTensor from, Tensor to, float scale, float shift) {
  require(from.elements() == to.elements(), "as many numbers as bytes");
  const std::uint8_t* source = from.as<std::uint8_t>();
  dispatch_float(to.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* target = to.as<T>();
    parallel_ranges(threads_, to.elements(), kGrain, [=](Range range) {
      Block<T> block;
      for (std::int64_t i = range.first; i < range.last; i += kBlock) {
        const std::int64_t count = std::min(kBlock, range.last - i);
        Wide<T>* values = block.target(target + i);
#pragma omp simd
        for (std::int64_t j = 0; j < count; ++j) {
          values[j] = static_cast<Wide<T>>(source[i + j]) * scale + shift;
        }
        block.store(target + i, count);
      }
    });
  });
}

}  // namespace trainbench
