#include "common/report/speedup.h"

#include <algorithm>
#include <set>

#include "common/report/numbers.h"
#include "common/report/text_table.h"

namespace trainbench {
namespace {

using Rows = std::vector<const CaseResult*>;

/// Wall seconds a sample, one a repetition.
std::vector<double> sample_times(const CaseResult& result) {
  std::vector<double> times = result.values("wall_time");
  const auto batch = static_cast<double>(result.id.integer("batch", 1));
  for (double& time : times) time /= batch;
  return times;
}

/// The rows of a group that are a measurement of speed.
Rows measured_rows(const Report& report, const std::string& group) {
  Rows rows;
  for (const CaseResult& result : report.results) {
    const bool speed = result.status == Status::ok && !result.simulated;
    if (!speed || group_name(result.id) != group || result.values("wall_time").empty()) continue;
    rows.push_back(&result);
  }
  return rows;
}

/// The row of least time a sample among those that `wanted` takes; null where it takes none.
template <class Wanted>
const CaseResult* fastest(const Rows& rows, const std::string& device, Wanted&& wanted) {
  const CaseResult* best = nullptr;
  double least = 0;
  for (const CaseResult* row : rows) {
    if (row->id.device != device || !wanted(row->id)) continue;
    const double time = median(sample_times(*row));
    if (best != nullptr && time >= least) continue;
    best = row;
    least = time;
  }
  return best;
}

double peak_flops(const Report& report, const CaseId& id) {
  for (const Json& device : devices_of(report)) {
    if (device.value("kind", "") != id.device || !device.contains("peaks")) continue;
    const Json flops = device["peaks"].value("flops", Json::object());
    return flops.is_object() ? flops.value(id.precision, 0.0) : 0.0;
  }
  return 0;
}

template <class Wanted>
void add_pair(const Report& report, const Rows& rows, const std::string& label, Wanted&& wanted,
              std::vector<Speedup>& pairs) {
  Speedup pair{fastest(rows, "cpu", wanted), fastest(rows, "gpu", wanted), label};
  if (pair.cpu == nullptr || pair.gpu == nullptr) return;
  const std::vector<double> cpu = sample_times(*pair.cpu);
  const std::vector<double> gpu = sample_times(*pair.gpu);
  pair.ratio = median(cpu) / median(gpu);
  pair.interval = ratio_interval(cpu, gpu);
  const double cpu_peak = peak_flops(report, pair.cpu->id);
  if (cpu_peak > 0) pair.peak_ratio = peak_flops(report, pair.gpu->id) / cpu_peak;
  pairs.push_back(pair);
}

std::string side(const CaseResult& row) {
  return row.id.precision + " " + seconds_text(median(row.values("wall_time")));
}

constexpr const char* kNoSpeedup =
    "\nThe GPU is simulated: there is no speed of it to compare with the CPU's.\n";

bool simulated_gpu(const Report& report) {
  return std::any_of(report.results.begin(), report.results.end(), [](const CaseResult& result) {
    return result.simulated && result.id.device == "gpu" && result.status == Status::ok;
  });
}

}  // namespace

std::string group_name(const CaseId& id) {
  std::string name = id.family + "/" + id.name;
  for (const auto& [key, value] : id.keys) {
    if (key != "batch" && key != "threads" && key != "provider") name += ", " + key + ":" + value;
  }
  return name;
}

Json devices_of(const Report& report) {
  return report.context.is_object() ? report.context.value("devices", Json::array())
                                    : Json::array();
}

std::int64_t cores_used(const Report& report, const CaseId& id) {
  std::int64_t cores = 0;
  for (const Json& device : devices_of(report)) {
    if (device.value("kind", "") != id.device) continue;
    cores = device.value("threads", device.value("units", std::int64_t{0}));
  }
  return id.integer("threads", cores);
}

std::vector<Speedup> speedups(const Report& report, const std::string& group) {
  const Rows rows = measured_rows(report, group);
  std::set<std::int64_t> batches;
  std::vector<std::string> precisions;
  for (const CaseResult* row : rows) {
    batches.insert(row->id.integer("batch", 0));
    const std::string& name = row->id.precision;
    if (std::find(precisions.begin(), precisions.end(), name) == precisions.end()) {
      precisions.push_back(name);
    }
  }
  std::vector<Speedup> pairs;
  for (const std::int64_t batch : batches) {
    for (const std::string& precision : precisions) {
      add_pair(
          report, rows, precision,
          [&](const CaseId& id) {
            return id.integer("batch", 0) == batch && id.precision == precision;
          },
          pairs);
    }
    if (precisions.size() < 2) continue;
    add_pair(
        report, rows, "best of each",
        [&](const CaseId& id) { return id.integer("batch", 0) == batch; }, pairs);
  }
  if (batches.size() > 1) {
    add_pair(
        report, rows, "any batch", [](const CaseId&) { return true; }, pairs);
  }
  return pairs;
}

std::string speedup_text(const Report& report) {
  using Align = TextTable::Align;
  TextTable table({{"", Align::left},
                   {"batch"},
                   {"cores"},
                   {"        CPU"},
                   {"        GPU"},
                   {" speed-up"},
                   {"   95 % between"},
                   {" peaks"}});
  std::set<std::string> seen;
  for (const CaseResult& result : report.results) {
    const std::string group = group_name(result.id);
    if (!seen.insert(group).second) continue;
    for (const Speedup& pair : speedups(report, group)) {
      const std::string cpu_batch = pair.cpu->id.text("batch", "-");
      const std::string gpu_batch = pair.gpu->id.text("batch", "-");
      table.add({group + " " + pair.label,
                 cpu_batch == gpu_batch ? cpu_batch : cpu_batch + ", " + gpu_batch,
                 std::to_string(cores_used(report, pair.cpu->id)), side(*pair.cpu), side(*pair.gpu),
                 ratio_text(pair.ratio),
                 significant(pair.interval.low, 3) + " and " + significant(pair.interval.high, 3),
                 pair.peak_ratio > 0 ? ratio_text(pair.peak_ratio) : "-"});
    }
  }
  if (table.empty()) return simulated_gpu(report) ? kNoSpeedup : "";
  return "\nGPU over CPU, wall time a sample; peaks: the ratio of the measured peak FLOP/s\n" +
         table.text();
}

}  // namespace trainbench
