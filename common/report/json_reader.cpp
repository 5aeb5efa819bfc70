#include <limits>
#include <map>
#include <set>

#include "common/config/typed_reader.h"
#include "common/core/error.h"
#include "common/report/json.h"

namespace trainbench {
namespace {

constexpr double kMost = std::numeric_limits<double>::max();
constexpr std::size_t kMostRows = 10'000'000;

/// Numbers of a row that are Google Benchmark's own; every other number is a counter.
bool is_own_key(const std::string& key) {
  static const std::set<std::string> keys{"family_index", "per_family_instance_index",
                                          "repetitions",  "repetition_index",
                                          "threads",      "iterations",
                                          "real_time",    "cpu_time"};
  return keys.contains(key);
}

CaseId read_id(const JsonNode& name) {
  try {
    return CaseId::parse(name.text());
  } catch (const InputError& error) {
    name.fail(error.what());
  }
}

Status read_status(const JsonNode& node) {
  const std::string text = node.choice({"ok", "failed", "skipped"});
  return text == "ok" ? Status::ok : text == "failed" ? Status::failed : Status::skipped;
}

/// What the first row of a case says of all of them.
CaseResult read_first_row(const ObjectReader& row, const ObjectReader& own) {
  CaseResult result;
  result.id = read_id(row.required("run_name"));
  result.status = read_status(own.required("status"));
  if (const auto reason = own.optional("reason")) result.reason = reason->text(0, 1 << 20);
  result.simulated = own.required("simulated").boolean();
  for (const auto& [operation, provider] : own.required("served").members()) {
    result.served.push_back({operation, provider.text()});
  }
  for (const JsonNode& name : own.required("constant").elements(0, 1000)) {
    // A number that was not finite has been left out.
    if (const auto value = row.optional(name.text())) {
      result.counters[name.text()] = value->number(-kMost, kMost);
    }
  }
  if (const auto details = own.optional("details")) result.details = details->value();
  return result;
}

Sample read_sample(const ObjectReader& row, const CaseResult& result) {
  Sample sample;
  sample.iterations = row.required("iterations").integer(0, INT64_MAX);
  sample.real_time = row.required("real_time").number(0, kMost);
  sample.cpu_time = row.required("cpu_time").number(0, kMost);
  for (const auto& [key, value] : row.node().members()) {
    if (!value.value().is_number() || is_own_key(key) || result.counters.contains(key)) continue;
    sample.counters[key] = value.number(-kMost, kMost);
  }
  const ObjectReader own(row.required("trainbench"));
  if (const auto process = own.optional("process")) {
    sample.process = static_cast<int>(process->integer(0, INT32_MAX));
  }
  return sample;
}

/// Holds what tables read of the devices to its types.
void check_devices(const JsonNode& devices) {
  for (const JsonNode& node : devices.elements(0, 1000)) {
    const ObjectReader device(node);
    device.required("kind").text();
    if (const auto name = device.optional("name")) name->text();
    if (const auto simulated = device.optional("simulated")) simulated->boolean();
    for (const char* key : {"units", "threads"}) {
      if (const auto count = device.optional(key)) count->integer(0, INT32_MAX);
    }
    const auto peaks = device.optional("peaks");
    if (!peaks) continue;
    const ObjectReader measured(*peaks);
    if (const auto bandwidth = measured.optional("bandwidth")) bandwidth->number(0, kMost);
    const auto flops = measured.optional("flops");
    if (!flops || flops->value().is_null()) continue;
    for (const auto& [precision, rate] : flops->members()) rate.number(0, kMost);
  }
}

void read_context(const JsonNode& node, Report& report) {
  for (const auto& [key, value] : node.members()) {
    if (key != "trainbench") report.google_context[key] = value.value();
  }
  const auto own_node = ObjectReader(node).optional("trainbench");
  if (!own_node) node.fail("has no \"trainbench\" object; a result of trainbench run is needed");
  const ObjectReader own(*own_node);
  const std::int64_t version = own.required("schema_version").integer(1, INT64_MAX);
  if (version > kSchemaVersion) {
    own_node->fail("schema_version " + std::to_string(version) + " is newer than " +
                   std::to_string(kSchemaVersion) + ", the newest that this program reads");
  }
  report.partial = own.required("partial").boolean();
  if (const auto devices = own.optional("devices")) check_devices(*devices);
  report.context = own_node->value();
  report.context.erase("schema_version");
  report.context.erase("partial");
}

}  // namespace

Report read_report(const Json& document, const std::string& file) {
  Report report;
  const ObjectReader top(JsonNode(document, file));
  read_context(top.required("context"), report);
  std::map<std::string, std::size_t> index;
  for (const JsonNode& node : top.required("benchmarks").elements(0, kMostRows)) {
    const ObjectReader row(node);
    if (row.required("run_type").choice({"iteration", "aggregate"}) == "aggregate") continue;
    const auto [found, fresh] =
        index.try_emplace(row.required("run_name").text(), report.results.size());
    if (fresh) {
      report.results.push_back(read_first_row(row, ObjectReader(row.required("trainbench"))));
    }
    CaseResult& result = report.results[found->second];
    Sample sample = read_sample(row, result);
    if (sample.iterations > 0) result.samples.push_back(std::move(sample));
  }
  return report;
}

Report read_report_file(const std::string& path) {
  return read_report(read_json_file(path, kResultLimits), path);
}

}  // namespace trainbench
