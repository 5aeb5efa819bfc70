#include "common/report/numbers.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace trainbench {
namespace {

std::string fixed(double value, int decimals) {
  std::array<char, 400> buffer;
  const int length = std::snprintf(buffer.data(), buffer.size(), "%.*f", decimals, value);
  return {buffer.data(), static_cast<std::size_t>(length)};
}

/// `value` rounded to that many significant digits.
double rounded(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double exponent = std::floor(std::log10(std::abs(value)));
  // Dividing by a power of ten is exact where multiplying by its inverse is not.
  const double power = exponent - digits + 1;
  if (power >= 0) return std::round(value / std::pow(10, power)) * std::pow(10, power);
  return std::round(value * std::pow(10, -power)) / std::pow(10, -power);
}

}  // namespace

std::string significant(double value, int digits) {
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
  const double shown = rounded(value, digits);
  const int exponent = shown == 0 ? 0 : static_cast<int>(std::floor(std::log10(std::abs(shown))));
  return fixed(shown, std::max(0, digits - 1 - exponent));
}

std::string si(double value, const std::string& unit) {
  constexpr std::array prefixes{"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  constexpr int kNone = 3;
  int step = kNone;
  const double size = std::abs(rounded(value, 3));
  if (size > 0 && std::isfinite(size)) {
    // A little above, so that the logarithm of 1000 is not a little below 3.
    step = kNone + static_cast<int>(std::floor(std::log10(size) / 3 + 1e-12));
    step = std::min(std::max(step, 0), static_cast<int>(prefixes.size()) - 1);
  }
  const double scaled = value / std::pow(1000.0, step - kNone);
  return significant(scaled, 3) + " " + prefixes[static_cast<std::size_t>(step)] + unit;
}

std::string seconds_text(double seconds) {
  // Minutes and hours are no SI steps; a kilosecond says nothing to anyone.
  return std::abs(seconds) >= 1000 ? significant(seconds, 4) + " s" : si(seconds, "s");
}

std::string bytes_text(double bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t step = 0;
  while (std::abs(rounded(bytes, 3)) >= 1024 && step + 1 < units.size()) {
    bytes /= 1024;
    ++step;
  }
  return (step == 0 ? fixed(bytes, 0) : significant(bytes, 3)) + " " + units[step];
}

std::string percent_text(double fraction) { return significant(100 * fraction, 3) + "%"; }

std::string ratio_text(double ratio) { return significant(ratio, 3) + "x"; }

}  // namespace trainbench
