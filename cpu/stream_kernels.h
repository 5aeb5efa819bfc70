#pragma once

#include <cstdint>

#include "common/probes.h"

namespace trainbench {

/// The part of a StreamOperands that one thread works on: `count` elements, a multiple of
/// kStreamGrain, of arrays that begin at a multiple of 64 bytes.
struct StreamPart {
  float* a = nullptr;
  const float* b = nullptr;
  const float* c = nullptr;
  std::int64_t count = 0;
};

/// How results reach memory. A store that goes around the caches spares reading the line first,
/// which moves a third more bytes than a triad counts; but what it stores is in no cache then.
enum class Stores : std::uint8_t { cached, streaming };

/// One pass of a kernel on the calling thread; the sum of dot and read, else 0.
double stream_pass(StreamKernel kernel, Stores stores, const StreamPart& part);

}  // namespace trainbench
