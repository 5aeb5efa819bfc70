#include "common/report/case_values.h"

#include "common/memory.h"
#include "common/report/counters.h"

namespace trainbench {

bool has_speed(const CaseResult& result) {
  return result.outcome() == Status::ok && !result.simulated &&
         !metric_values(result, kWallTime).empty();
}

std::vector<double> metric_values(const CaseResult& result, const std::string& metric) {
  std::vector<double> values = result.values(metric);
  if (!values.empty() || metric != kWallTime) return values;
  for (const Sample& sample : result.samples) {
    if (sample.real_time > 0) values.push_back(sample.real_time);
  }
  return values;
}

Throughput throughput_of(const CaseResult& result) {
  Throughput rate{result.values("samples_per_second"), "samples/s"};
  if (!rate.values.empty()) return rate;
  rate.unit = "iterations/s";
  for (const double time : metric_values(result, kWallTime)) rate.values.push_back(1 / time);
  return rate;
}

double memory_bytes_of(const CaseResult& result) {
  double bytes = 0;
  for (const MemoryKind kind : kMemoryKinds) {
    const auto found = result.counters.find("memory_bytes_" + std::string(name_of(kind)));
    if (found != result.counters.end()) bytes += found->second;
  }
  return bytes;
}

}  // namespace trainbench
