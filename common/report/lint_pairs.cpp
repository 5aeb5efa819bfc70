#include <algorithm>
#include <map>
#include <set>

#include "common/config/families.h"
#include "common/report/case_values.h"
#include "common/report/lint_rules.h"
#include "common/report/numbers.h"
#include "common/report/speedup.h"

namespace trainbench::lint_rule {
namespace {

/// The measured rows of a workload that both devices have: a pairing.
struct Compared {
  std::string group;
  Rows cpu;
  Rows gpu;

  Places places() const {
    std::set<std::size_t> all;
    for (const Rows* rows : {&cpu, &gpu}) {
      for (const Row& row : *rows) all.insert(row.place);
    }
    return {all.begin(), all.end()};
  }
};

std::vector<Compared> compared_groups(const Pool& pool) {
  std::map<std::string, Compared> groups;
  for (const Row& row : pool.rows) {
    if (!has_speed(*row.result)) continue;
    Compared& group = groups[group_name(row.id())];
    if (row.id().device == "cpu") group.cpu.push_back(row);
    if (row.id().device == "gpu") group.gpu.push_back(row);
  }
  std::vector<Compared> compared;
  for (auto& [name, group] : groups) {
    if (group.cpu.empty() || group.gpu.empty()) continue;
    group.group = name;
    compared.push_back(std::move(group));
  }
  return compared;
}

template <class Value>
std::set<std::string> values_of(const Rows& rows, Value&& value) {
  std::set<std::string> values;
  for (const Row& row : rows) values.insert(value(row.id()));
  return values;
}

bool overlap(const std::set<std::string>& a, const std::set<std::string>& b) {
  return std::any_of(a.begin(), a.end(), [&](const std::string& each) { return b.contains(each); });
}

std::string list_of(const std::set<std::string>& values) {
  std::string list;
  for (const std::string& value : values) list += (list.empty() ? "" : ", ") + value;
  return list;
}

std::string precision_of(const CaseId& id) { return id.precision; }
std::string batch_of(const CaseId& id) { return id.text("batch", "-"); }
std::string precision_and_batch_of(const CaseId& id) {
  return precision_of(id) + " batch " + batch_of(id);
}

std::string cores_text(double part, double whole) {
  return significant(part, 6) + " of " + significant(whole, 6) + " cores";
}

/// A case without its threads, and how many of the usable cores its rows had at most.
struct Used {
  double most = 0;
  double whole = 0;
  std::set<std::size_t> places;
};

void add_used(const Row& row, std::map<std::string, Used>& cases) {
  CaseId id = row.id();
  std::erase_if(id.keys, [](const auto& each) { return each.first == "threads"; });
  Used& used = cases[id.full_name()];
  const auto all = static_cast<double>(cores_used(*row.report, id));
  used.most = std::max(used.most, static_cast<double>(cores_used(*row.report, row.id())));
  used.whole = std::max({used.whole, all, number_at(*row.report, "/machine/cpu/usable_cores")});
  used.places.insert(row.place);
}

/// Families whose cases say whether the transfers are in their time.
bool has_boundary(const std::string& family) {
  return std::any_of(families().begin(), families().end(), [&](const Family& each) {
    return each.name == family &&
           std::any_of(each.axes.begin(), each.axes.end(),
                       [](const Axis& axis) { return axis.key == "boundary"; });
  });
}

/// What a workload has on one device.
struct Boundaries {
  bool measured = false;
  bool end_to_end = false;  // a row, though it may have failed and say so
};

}  // namespace

void mixed_precision(const Pool& pool, Findings& findings) {
  for (const Compared& group : compared_groups(pool)) {
    const std::set<std::string> cpu = values_of(group.cpu, precision_of);
    const std::set<std::string> gpu = values_of(group.gpu, precision_of);
    if (overlap(cpu, gpu)) continue;
    findings.add(group.places(), group.group,
                 "GPU " + list_of(gpu) + " against CPU " + list_of(cpu));
  }
}

/// Where a precision is common to both devices the batch must be so too within one; else the
/// pairing is of different precisions anyway.
void different_batch(const Pool& pool, Findings& findings) {
  for (const Compared& group : compared_groups(pool)) {
    const bool common =
        overlap(values_of(group.cpu, precision_of), values_of(group.gpu, precision_of));
    const auto value = common ? precision_and_batch_of : batch_of;
    const std::set<std::string> cpu = values_of(group.cpu, value);
    const std::set<std::string> gpu = values_of(group.gpu, value);
    if (overlap(cpu, gpu)) continue;
    const char* batch = common ? "" : "batch ";
    findings.add(
        group.places(), group.group,
        std::string("GPU ") + batch + list_of(gpu) + " against CPU " + batch + list_of(cpu));
  }
}

void partial_cpu(const Pool& pool, Findings& findings) {
  std::map<std::string, Used> cases;
  std::map<std::size_t, const Report*> reports;
  for (const Compared& group : compared_groups(pool)) {
    for (const Row& row : group.cpu) {
      add_used(row, cases);
      reports.emplace(row.place, row.report);
    }
  }
  for (const auto& [name, used] : cases) {
    if (used.most >= used.whole) continue;
    findings.add({used.places.begin(), used.places.end()}, name,
                 "its rows had at most " + cores_text(used.most, used.whole));
  }
  for (const auto& [place, report] : reports) {
    const double usable = number_at(*report, "/machine/cpu/usable_cores");
    const double cores = number_at(*report, "/machine/cpu/cores");
    if (usable <= 0 || usable >= cores) continue;
    findings.add({place}, "", "the run was allowed " + cores_text(usable, cores));
  }
}

void transfers_left_out(const Pool& pool, Findings& findings) {
  struct Workload {
    std::map<std::string, Boundaries> devices;
    std::set<std::size_t> places;
  };
  std::map<std::string, Workload> workloads;
  for (const Row& row : pool.rows) {
    if (!has_boundary(row.id().family)) continue;
    Workload& workload = workloads[row.id().family + "/" + row.id().name];
    Boundaries& here = workload.devices[row.id().device];
    here.measured |= has_speed(*row.result);
    here.end_to_end |= row.id().text("boundary", "resident") == "end-to-end";
    workload.places.insert(row.place);
  }
  for (auto& [name, workload] : workloads) {
    const Boundaries cpu = workload.devices["cpu"];
    const Boundaries gpu = workload.devices["gpu"];
    if (!cpu.measured || !gpu.measured || (cpu.end_to_end && gpu.end_to_end)) continue;
    const char* who = cpu.end_to_end ? "the GPU" : gpu.end_to_end ? "the CPU" : "either device";
    findings.add({workload.places.begin(), workload.places.end()}, name,
                 std::string("no boundary:end-to-end row of ") + who);
  }
}

}  // namespace trainbench::lint_rule
