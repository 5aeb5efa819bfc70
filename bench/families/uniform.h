#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "common/backend.h"
#include "common/core/philox.h"

namespace trainbench {

/// An array of fp32 numbers uniform in [-1, 1]: a number depends on seed, stream and index alone,
/// so that a check can make any part of it again.
class UniformArray {
 public:
  UniformArray(std::uint64_t seed, std::uint64_t stream) : random_(seed, stream) {}

  /// The numbers from `first` on, which is a multiple of 4.
  void read(std::int64_t first, std::vector<float>& to) const {
    for (std::size_t i = 0; i < to.size(); i += 4) {
      const PhiloxWords words = random_.block((static_cast<std::uint64_t>(first) + i) / 4);
      const std::size_t last = std::min<std::size_t>(4, to.size() - i);
      for (std::size_t k = 0; k < last; ++k) {
        to[i + k] = static_cast<float>(static_cast<std::int32_t>(words.word[k])) * 0x1p-31f;
      }
    }
  }

  /// Fills an f32 tensor.
  void write(Backend& backend, Tensor to) const {
    for_chunks(to.elements(), [&](std::int64_t first, std::int64_t count) {
      std::vector<float> values(static_cast<std::size_t>(count));
      read(first, values);
      backend.copy_from_host(to.range(first, count), values.data());
    });
  }

  /// Calls body(first, count) on pieces of [0, elements) that are cheap to hold.
  template <class Body>
  static void for_chunks(std::int64_t elements, const Body& body) {
    constexpr std::int64_t kChunk = std::int64_t{1} << 18;
    for (std::int64_t first = 0; first < elements; first += kChunk) {
      body(first, std::min(kChunk, elements - first));
    }
  }

 private:
  Philox random_;
};

}  // namespace trainbench
