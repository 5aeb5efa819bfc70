#pragma once

#include <string>
#include <vector>

#include "common/report/result.h"

namespace trainbench {

/// Whether a case's times are a speed: it was measured, and not on a simulated device.
bool has_speed(const CaseResult& result);

/// A metric's values, one a repetition; empty where the case lacks it. Another program's time is
/// its real time.
std::vector<double> metric_values(const CaseResult& result, const std::string& metric);

/// A rate and its unit: samples a second where the case counts samples, else iterations a second.
struct Throughput {
  std::vector<double> values;
  const char* unit;
};
Throughput throughput_of(const CaseResult& result);

/// Bytes of all kinds of memory together; 0 where the case does not say.
double memory_bytes_of(const CaseResult& result);

}  // namespace trainbench
