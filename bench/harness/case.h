#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "common/config/suite.h"
#include "common/memory.h"
#include "common/report/result.h"

namespace trainbench {

/// What a number of iterations took. `wall` is the host's monotonic clock from the first call to
/// the device having finished; `device` the device's own events, absent where the host is the
/// device.
struct Measurement {
  double wall_seconds = 0;
  std::optional<double> device_seconds;
  std::map<std::string, double> counters;  ///< of this repetition alone: loader_wait_fraction, ...
};

/// A benchmark case with its memory allocated and its inputs in place.
class PreparedCase {
 public:
  virtual ~PreparedCase() = default;

  /// Runs the work once and compares its outputs with the double-precision reference, at the very
  /// shapes, provider and layout that will be timed. Throws DeviceError where they differ. Fills
  /// what the case costs (FLOPs, bytes) and how exact it was into `result.counters`.
  virtual void check(CaseResult& result) = 0;

  /// Runs `iterations` iterations. Nothing is allocated, and on a GPU nothing waits before the end.
  virtual Measurement run(std::int64_t iterations) = 0;

  /// Counters of the repetition that just ended, read outside the timed region. Throws DeviceError
  /// where they show that the run was worthless (a NaN loss).
  virtual std::map<std::string, double> after_repetition() { return {}; }

  /// Device memory held: for the report, and so that the harness can bound what is kept prepared.
  virtual MemoryUse memory() const = 0;
};

struct RunEnvironment;

/// Prepares a case; throws Unsupported (skipped), DeviceError (failed) or InputError.
using CaseFactory = std::unique_ptr<PreparedCase> (*)(const SuiteCase&, RunEnvironment&);

/// The factory of a family; throws InputError for a name that no family has.
CaseFactory family_factory(const std::string& family);

}  // namespace trainbench
