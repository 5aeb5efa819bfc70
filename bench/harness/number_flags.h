#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <limits>

namespace trainbench {

/// Checks of a flag's value that say what would be right. CLI11's own print their bounds as %f, let
/// NaN through every range, and take a minus sign for an unsigned number.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most);
CLI::Validator real_number(double least, double most);

/// A part of one, also in percent: "1%" becomes "0.01".
CLI::Validator fraction(double least, double most);

/// What --gpu and --seed take.
inline CLI::Validator gpu_index() { return whole_number(0, 1023); }
inline CLI::Validator seed_number() {
  return whole_number(0, std::numeric_limits<std::uint64_t>::max());
}

}  // namespace trainbench
