#pragma once

#include <string>

namespace trainbench {

/// `value` with three significant digits and an SI prefix: si(3.51e11, "FLOP/s") is "351 GFLOP/s".
std::string si(double value, const std::string& unit);

/// "36.1 ms".
std::string seconds_text(double seconds);

/// Memory in powers of 1024: "1.21 GiB".
std::string bytes_text(double bytes);

/// A part of one: percent_text(0.123) is "12.3%".
std::string percent_text(double fraction);

/// "12.3x".
std::string ratio_text(double ratio);

/// `value` in plain notation with that many significant digits: significant(1234.5, 3) is "1230".
std::string significant(double value, int digits);

}  // namespace trainbench
