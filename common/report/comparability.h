#pragma once

#include <string>
#include <vector>

#include "common/report/result.h"

namespace trainbench {

/// One thing that two runs must have in common for a difference of their times to be the code's.
struct Condition {
  std::string name;   ///< "compiler"
  std::string value;  ///< "GNU 12.2.0"
};

/// What a report says of its machine, devices, drivers, libraries and build, in a fixed order; what
/// it does not say is left out. The first names the machine.
std::vector<Condition> conditions_of(const Report& report);

/// Tells machines apart without naming them: the host's id; of another program's result, a hash of
/// its host's name. Empty where a report says neither.
std::string machine_of(const Report& report);

/// Tells builds apart: a hash of the compiler, its flags and all else that makes one, not of the
/// commit. Other programs do not say how they were built and share one.
std::string build_of(const Report& report);

/// Everything in which the reports differ, with the values: `GPU ("A" and "B"), driver (...)`;
/// empty where nothing does. What only some of them say makes no difference: a device that a
/// machine lacks has no times there.
std::string differences(const std::vector<const Report*>& reports);

/// Why no time of this report means anything: our own debug or sanitized build. Empty where it
/// does. Another program's "library_build_type" is not asked: Debian's Google Benchmark says debug
/// always.
std::string unfit_build(const Report& report);

}  // namespace trainbench
