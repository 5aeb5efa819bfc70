#pragma once

#include <cstdint>
#include <vector>

#include "common/data/dataset.h"

namespace trainbench {

/// Data that a network can learn something of, by integer arithmetic on Philox words: the same on
/// every machine.

/// Each class has a prototype of random bytes, and a sample is a quarter of its class's prototype
/// and three quarters noise of its own, so that no single pixel tells the class.
void fill_synthetic_images(Dataset& dataset, std::uint64_t seed, const SyntheticSize& size);

/// English sentences of a small grammar, whose words differ in how often they come.
std::vector<std::uint8_t> synthetic_text(std::uint64_t seed, std::int64_t characters);

/// Tokens (i32) below `vocabulary`: three in four follow from the one before, the others are drawn
/// so that small ones are frequent.
std::vector<std::uint8_t> synthetic_tokens(std::uint64_t seed, std::int64_t count,
                                           std::int64_t vocabulary);

}  // namespace trainbench
