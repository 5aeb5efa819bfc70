#include <algorithm>

#include "common/report/case_values.h"
#include "common/report/comparability.h"
#include "common/report/counters.h"
#include "common/report/lint_rules.h"
#include "common/report/numbers.h"
#include "common/report/speedup.h"
#include "common/report/statistics.h"
#include "common/system/device_info.h"

namespace trainbench::lint_rule {
namespace {

/// Of fewer repetitions not even the extremes hold the median with 95 %: 1 - 2^(1 - n).
constexpr std::size_t kLeastRepetitions = 6;
/// F(2x2, 3x3), the filtering of our convolutions, needs 16 products where the definition has 36:
/// what that alone may pass the peak by.
constexpr double kFilteringGain = 36.0 / 16;
/// The peak of bandwidth is a triad's, which without streaming stores moves 4 arrays for 3 that
/// count; a kernel that only reads also spares the bus its turns. Nothing doubles it.
constexpr double kAboveTriad = 2;

/// A number of an object; 0 where it has none.
double number_of(const Json& object, const char* key) {
  const bool known = object.is_object() && object.contains(key) && object[key].is_number();
  return known ? object[key].get<double>() : 0;
}

/// What the row says that its caches hold: one core's reach is not the machine's. Else all
/// instances of a level of the CPU together.
double cache_bytes(const Row& row) {
  double most = 0;
  const Json::json_pointer own("/working_set/caches");
  const Json& details = row.result->details;
  if (details.is_object() && details.contains(own)) {
    for (const Json& bytes : details.at(own)) {
      if (bytes.is_number()) most = std::max(most, bytes.get<double>());
    }
  }
  const Json::json_pointer machine("/machine/cpu/caches");
  const Json& context = row.report->context;
  if (most > 0 || row.id().device != "cpu" || !context.is_object() || !context.contains(machine)) {
    return most;
  }
  for (const Json& cache : context.at(machine)) {
    most = std::max(most, number_of(cache, "bytes") * number_of(cache, "instances"));
  }
  return most;
}

/// Bytes that a bandwidth was measured on and that the row calls the memory's: it names no cache.
/// 0: it is no such row.
double memory_working_set(const CaseResult& result) {
  const auto number = [&](const char* name) {
    const auto found = result.counters.find(name);
    return found == result.counters.end() ? 0.0 : found->second;
  };
  if (!has_speed(result) || number("cache_level") > 0) return 0;
  const double bytes = number("working_set_bytes");
  return bytes > 0 || result.id.family != "stream" ? bytes : number("bytes_per_iteration");
}

/// Why the times of a case are no sample of what it takes; empty where they are.
std::string poor_sample(const Row& row) {
  const std::size_t count = row.result->samples.size();
  if (count == 0) return "no repetition, only what was made of them";
  if (count < kLeastRepetitions) {
    return std::to_string(count) + (count == 1 ? " repetition" : " repetitions") +
           ", of at least " + std::to_string(kLeastRepetitions);
  }
  const double asked = number_at(*row.report, "/settings/repetitions");
  if (!row.report->partial && static_cast<double>(count) < asked) {
    return std::to_string(count) + " of the " + significant(asked, 6) + " repetitions asked for";
  }
  const std::vector<double> times = metric_values(*row.result, kWallTime);
  const bool copied = !times.empty() && std::all_of(times.begin(), times.end(), [&](double each) {
    return each == times.front();
  });
  return copied ? "its " + std::to_string(count) + " repetitions are one number" : "";
}

/// The most that a row's share of the measured FLOP/s may be.
double highest_share(const CaseResult& result) {
  const bool filtered = std::any_of(result.served.begin(), result.served.end(),
                                    [](const Served& each) { return each.provider == "winograd"; });
  return filtered ? kFilteringGain : 1;
}

}  // namespace

double number_at(const Report& report, const char* path) {
  const Json::json_pointer pointer(path);
  if (!report.context.is_object() || !report.context.contains(pointer)) return 0;
  const Json& value = report.context.at(pointer);
  return value.is_number() ? value.get<double>() : 0;
}

void cache_as_dram(const Pool& pool, Findings& findings) {
  for (const Row& row : pool.rows) {
    const double bytes = memory_working_set(*row.result);
    const double cache = cache_bytes(row);
    if (bytes <= 0 || bytes > cache) continue;
    findings.add({row.place}, row.name(),
                 "its arrays take " + bytes_text(bytes) + ", the caches hold " + bytes_text(cache));
  }
}

void few_repetitions(const Pool& pool, Findings& findings) {
  for (const Row& row : pool.rows) {
    if (row.result->status != Status::ok || row.result->simulated) continue;
    const std::string why = poor_sample(row);
    if (!why.empty()) findings.add({row.place}, row.name(), why);
  }
}

void above_roofline(const Pool& pool, Findings& findings) {
  for (const Row& row : pool.rows) {
    if (!has_speed(*row.result)) continue;
    const auto judge = [&](const char* counter, double highest, const char* peak) {
      const std::vector<double> shares = row.result->values(counter);
      if (shares.empty() || median(shares) <= highest) return;
      findings.add({row.place}, row.name(), percent_text(median(shares)) + " of " + peak);
    };
    const double highest = highest_share(*row.result);
    judge("fraction_of_peak_flops", highest,
          highest > 1 ? "the measured FLOP/s, more than winograd's filtering saves"
                      : "the measured FLOP/s, and no convolution was filtered (winograd)");
    // A step's bytes count each operand of each operation: what a cache keeps may exceed memory's.
    const double bytes = memory_working_set(*row.result);
    if (bytes > cache_bytes(row)) {
      judge("fraction_of_peak_bandwidth", kAboveTriad, "the measured bandwidth");
    }
  }
}

void simulated_speed(const Pool& pool, Findings& findings) {
  for (const Row& row : pool.rows) {
    if (!has_speed(*row.result)) continue;
    for (const Json& device : devices_of(*row.report)) {
      if (device.value("kind", "") != row.id().device) continue;
      const std::string name = device.value("name", "");
      if (!device.value("simulated", false) && !is_simulated_name(name)) continue;
      findings.add({row.place}, row.name(), "its device is a simulation: " + name);
      break;
    }
  }
}

void unchecked(const Pool& pool, Findings& findings) {
  for (const Row& row : pool.rows) {
    if (row.result->outcome() != Status::ok) continue;
    const std::vector<double> outputs = row.result->values("checked_outputs");
    const std::vector<double> used = row.result->values("error_of_tolerance");
    if (outputs.empty() || median(outputs) <= 0) {
      findings.add({row.place}, row.name(), "no output was held to a reference");
    } else if (!used.empty() && median(used) > 1) {
      findings.add({row.place}, row.name(),
                   "its worst output's error is " + percent_text(median(used)) + " of its bound");
    }
  }
}

void debug_build(const Pool& pool, Findings& findings) {
  for (const auto& [place, report] : pool.reports) {
    const std::string why = unfit_build(*report);
    if (!why.empty()) findings.add({place}, "", why);
  }
}

void partial_run(const Pool& pool, Findings& findings) {
  for (const auto& [place, report] : pool.reports) {
    if (report->partial) findings.add({place}, "", "interrupted before all repetitions were taken");
  }
}

void planted_fault(const Pool& pool, Findings& findings) {
  for (const auto& [place, report] : pool.reports) {
    if (!report->context.is_object() || !report->context.contains("test_fault")) continue;
    findings.add(
        {place}, "",
        report->context["test_fault"].dump(-1, ' ', false, Json::error_handler_t::replace));
  }
}

}  // namespace trainbench::lint_rule
