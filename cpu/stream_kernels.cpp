#include "cpu/stream_kernels.h"

#include <algorithm>

#include "cpu/small_product.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace trainbench {
namespace {

constexpr std::int64_t kLanes = Lanes<float>::kCount;
typedef float Vector __attribute__((vector_size(kLanes * sizeof(float)), may_alias));

/// Vectors of a round of a loop: enough for its counter to cost nothing, and for as many
/// independent sums as hide an addition's latency.
constexpr std::int64_t kUnroll = 8;
constexpr std::int64_t kRound = kUnroll * kLanes;
static_assert(kStreamGrain % kRound == 0, "parts are whole rounds");

Vector load(const float* from) { return *reinterpret_cast<const Vector*>(from); }

template <Stores kStores>
void store(float* to, Vector value) {
#if defined(__x86_64__)
  if constexpr (kStores == Stores::streaming) {
#if defined(__AVX512F__)
    _mm512_stream_ps(to, (__m512)value);
#elif defined(__AVX__)
    _mm256_stream_ps(to, (__m256)value);
#else
    _mm_stream_ps(to, (__m128)value);
#endif
    return;
  }
#endif
  *reinterpret_cast<Vector*>(to) = value;
}

/// a[i] = value(i), a vector at a time.
template <Stores kStores, class Value>
void map(const StreamPart& part, const Value& value) {
  for (std::int64_t i = 0; i < part.count; i += kRound) {
    for (std::int64_t j = i; j < i + kRound; j += kLanes) store<kStores>(part.a + j, value(j));
  }
#if defined(__x86_64__)
  if constexpr (kStores == Stores::streaming) _mm_sfence();
#endif
}

/// The sum of term(i). Each block is summed in fp32, the blocks in double.
template <class Term>
double sum(const StreamPart& part, const Term& term) {
  constexpr std::int64_t kRounds = 128;
  static_assert(kRounds + kUnroll <= kStreamChain);
  double total = 0;
  for (std::int64_t first = 0; first < part.count; first += kRounds * kRound) {
    const std::int64_t last = std::min(part.count, first + kRounds * kRound);
    Vector sums[kUnroll] = {};
    for (std::int64_t i = first; i < last; i += kRound) {
      for (std::int64_t k = 0; k < kUnroll; ++k) sums[k] += term(i + k * kLanes);
    }
    for (std::int64_t k = 1; k < kUnroll; ++k) sums[0] += sums[k];
    for (std::int64_t lane = 0; lane < kLanes; ++lane) total += static_cast<double>(sums[0][lane]);
  }
  return total;
}

template <Stores kStores>
double pass(StreamKernel kernel, const StreamPart& part) {
  const float* b = part.b;
  const float* c = part.c;
  const Vector s = Vector{} + kStreamFactor;
  switch (kernel) {
    case StreamKernel::copy:
      map<kStores>(part, [=](std::int64_t i) { return load(b + i); });
      break;
    case StreamKernel::scale:
      map<kStores>(part, [=](std::int64_t i) { return s * load(b + i); });
      break;
    case StreamKernel::add:
      map<kStores>(part, [=](std::int64_t i) { return load(b + i) + load(c + i); });
      break;
    case StreamKernel::triad:
      map<kStores>(part, [=](std::int64_t i) { return load(b + i) + s * load(c + i); });
      break;
    case StreamKernel::write:
      map<kStores>(part, [=](std::int64_t) { return s; });
      break;
    case StreamKernel::dot:
      return sum(part, [=](std::int64_t i) { return load(b + i) * load(c + i); });
    case StreamKernel::read:
      return sum(part, [=](std::int64_t i) { return load(b + i); });
  }
  return 0;
}

}  // namespace

double stream_pass(StreamKernel kernel, Stores stores, const StreamPart& part) {
  return stores == Stores::streaming ? pass<Stores::streaming>(kernel, part)
                                     : pass<Stores::cached>(kernel, part);
}

}  // namespace trainbench
