#include "bench/harness/rates.h"

#include <algorithm>
#include <string_view>

namespace trainbench {
namespace {

constexpr std::string_view kFlops = "flops_per_iteration";

struct Rate {
  std::string_view amount;  ///< counter of the case: how much an iteration does
  const char* rate;         ///< counter of the sample: amount a second
  const char* fraction;     ///< counter of the sample: of the peak; null where there is none
  double peak;
};

/// What each of several equal parts of an iteration takes, and how many of them must be under way
/// at once to reach the device's peak: latency times throughput (Little, 1961). The latter where
/// the case says what a part comes to alone, with no other under way.
struct Part {
  const char* parts;    ///< counter of the case: how many an iteration has
  const char* seconds;  ///< counter of the sample
  const char* amount;   ///< counter of the case: FLOPs or bytes of a part; null: it has none
  double peak;          ///< of that amount a second
};

void add_parts(CaseResult& result, double peak_flops, double peak_bandwidth) {
  const Part parts[] = {
      {"loads_per_iteration", "seconds_per_load", "bytes_per_load", peak_bandwidth},
      {"operations_in_turn", "seconds_per_operation", "flops_per_operation", peak_flops},
      {"launches_per_iteration", "seconds_per_launch", nullptr, 0},
  };
  for (const Part& part : parts) {
    const auto count = result.counters.find(part.parts);
    if (count == result.counters.end()) continue;
    const auto amount =
        part.amount == nullptr ? result.counters.end() : result.counters.find(part.amount);
    for (Sample& sample : result.samples) {
      const double seconds = sample.counters["wall_time"] / count->second;
      sample.counters[part.seconds] = seconds;
      if (amount == result.counters.end() || part.peak <= 0 || result.simulated) continue;
      sample.counters["concurrency_needed"] = seconds * part.peak / amount->second;
    }
  }
}

/// Whether the case says that a cache holds what it works on: no bandwidth of memory, then.
bool in_cache(const CaseResult& result) {
  const auto level = result.counters.find("cache_level");
  return level != result.counters.end() && level->second > 0;
}

/// Whether the case is the very kernel whose rate is the peak bandwidth.
bool is_peak_triad(const CaseResult& result) {
  return result.id.family == "stream" && result.id.name == "triad";
}
/// What its two measurements may differ by.
constexpr double kBandwidthSlack = 1.05;

/// Google Benchmark's clock runs around the steps' own: what lies between is the harness.
void add_harness_fraction(CaseResult& result) {
  if (result.id.device != "cpu") return;  // elsewhere its clock is the device's
  for (Sample& sample : result.samples) {
    const double steps = sample.counters["wall_time"];
    if (steps > 0) sample.counters["harness_fraction"] = (sample.real_time - steps) / steps;
  }
}

}  // namespace

bool add_rates(CaseResult& result, const Peaks& peaks) {
  add_harness_fraction(result);
  bool above_peak = false;
  if (result.details.is_object()) result.details.erase("above_peak");
  const auto peak_flops = peaks.flops.find(result.id.precision);
  add_parts(result, peak_flops == peaks.flops.end() ? 0 : peak_flops->second, peaks.bandwidth);
  const Rate rates[] = {
      {"samples_per_iteration", "samples_per_second", nullptr, 0},
      {"tokens_per_iteration", "tokens_per_second", nullptr, 0},
      {kFlops, "flops_per_second", "fraction_of_peak_flops",
       peak_flops == peaks.flops.end() ? 0 : peak_flops->second},
      {"bytes_per_iteration", "bytes_per_second", "fraction_of_peak_bandwidth",
       in_cache(result) ? 0 : peaks.bandwidth},
      {"transferred_per_iteration", "transferred_per_second", nullptr, 0},
  };
  for (const Rate& rate : rates) {
    const auto amount = result.counters.find(std::string(rate.amount));
    if (amount == result.counters.end()) continue;
    for (Sample& sample : result.samples) {
      const double seconds = sample.counters["wall_time"];
      if (seconds <= 0) continue;
      const double per_second = amount->second / seconds;
      sample.counters[rate.rate] = per_second;
      if (rate.fraction == nullptr || rate.peak <= 0 || result.simulated) continue;
      sample.counters[rate.fraction] = per_second / rate.peak;
      // Bytes are those of an ideal cache-less device: a step that fits the caches may exceed DRAM.
      above_peak |= rate.amount == kFlops && per_second > rate.peak;
      above_peak |= is_peak_triad(result) && per_second > kBandwidthSlack * rate.peak;
    }
  }
  if (above_peak) result.details["above_peak"] = true;
  return above_peak;
}

Peaks larger(const Peaks& a, const Peaks& b) {
  const auto merge = [](std::map<std::string, double> into,
                        const std::map<std::string, double>& from) {
    for (const auto& [precision, flops] : from) {
      into[precision] = std::max(into[precision], flops);
    }
    return into;
  };
  return {.flops = merge(a.flops, b.flops),
          .gemm = merge(a.gemm, b.gemm),
          .bandwidth = std::max(a.bandwidth, b.bandwidth)};
}

void settle_peaks(CaseResult& result, Peaks& peaks, const std::function<Peaks()>& measure) {
  for (int again = 0; again < 2 && add_rates(result, peaks); ++again) {
    peaks = larger(peaks, measure());
  }
}

}  // namespace trainbench
