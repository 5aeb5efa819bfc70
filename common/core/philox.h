#pragma once

#include <array>
#include <cstdint>

/// Functions that both the host and a CUDA device run.
#ifdef __CUDACC__
#define TRAINBENCH_HOST_DEVICE __host__ __device__
#else
#define TRAINBENCH_HOST_DEVICE
#endif

namespace trainbench {

/// Four 32-bit words: a counter, or the random words made from it.
struct PhiloxWords {
  std::uint32_t word[4];
};

/// Philox4x32-10, a counter-based generator: the four words depend on counter and key alone, so any
/// thread of any device gets the same ones. Salmon, Moraes, Dror, Shaw: "Parallel random numbers:
/// as easy as 1, 2, 3", SC 2011.
TRAINBENCH_HOST_DEVICE constexpr PhiloxWords philox4x32(PhiloxWords counter, std::uint32_t key0,
                                                        std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = std::uint64_t{0xD2511F53u} * counter.word[0];
    const std::uint64_t product1 = std::uint64_t{0xCD9E8D57u} * counter.word[2];
    counter = PhiloxWords{{static_cast<std::uint32_t>(product1 >> 32) ^ counter.word[1] ^ key0,
                           static_cast<std::uint32_t>(product1),
                           static_cast<std::uint32_t>(product0 >> 32) ^ counter.word[3] ^ key1,
                           static_cast<std::uint32_t>(product0)}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return counter;
}

/// A stream of random numbers addressed by index: `seed` and `stream` choose it.
class Philox {
 public:
  TRAINBENCH_HOST_DEVICE constexpr Philox(std::uint64_t seed, std::uint64_t stream)
      : seed_(seed), stream_(stream) {}

  /// Words 4 * index .. 4 * index + 3 of the stream.
  TRAINBENCH_HOST_DEVICE constexpr PhiloxWords block(std::uint64_t index) const {
    const PhiloxWords counter{
        {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32),
         static_cast<std::uint32_t>(stream_), static_cast<std::uint32_t>(stream_ >> 32)}};
    return philox4x32(counter, static_cast<std::uint32_t>(seed_),
                      static_cast<std::uint32_t>(seed_ >> 32));
  }

  TRAINBENCH_HOST_DEVICE constexpr std::uint32_t word(std::uint64_t index) const {
    return block(index / 4).word[index % 4];
  }

  /// The index-th number, uniform in [0, 1), with 32 random bits.
  TRAINBENCH_HOST_DEVICE constexpr double uniform(std::uint64_t index) const {
    return static_cast<double>(word(index)) * 0x1p-32;
  }

  /// The index-th number, uniform in [low, high).
  TRAINBENCH_HOST_DEVICE constexpr double uniform(std::uint64_t index, double low,
                                                  double high) const {
    return low + (high - low) * uniform(index);
  }

 private:
  std::uint64_t seed_;
  std::uint64_t stream_;
};

}  // namespace trainbench
