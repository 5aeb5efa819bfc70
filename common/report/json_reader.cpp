#include <limits>
#include <map>

#include "common/core/error.h"
#include "common/report/json.h"
#include "common/report/result_rows.h"

namespace trainbench {
namespace {

constexpr double kMost = std::numeric_limits<double>::max();

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
  sample.counters = read_counters(row, result.counters);
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

/// The rows of our own files: the first of a case says what is true of all. Aggregates follow from
/// the repetitions and are left out, but a case that has nothing else is there, without a sample.
class OwnRows : public ResultRows {
 public:
  void add(const JsonNode& node) override {
    const ObjectReader row(node);
    if (row.required("run_type").choice({"iteration", "aggregate"}) == "aggregate") {
      add_aggregate(row);
      return;
    }
    CaseResult* result = find(row.required("run_name").text());
    if (result == nullptr) {
      result = &append(read_first_row(row, ObjectReader(row.required("trainbench"))));
    }
    Sample sample = read_sample(row, *result);
    if (sample.iterations > 0) result->samples.push_back(std::move(sample));
  }

  void finish(const JsonNode&) override {
    for (CaseResult& result : aggregated_) {
      if (find(result.id.full_name()) == nullptr) append(std::move(result));
    }
  }

 private:
  void add_aggregate(const ObjectReader& row) {
    const JsonNode name = row.required("run_name");
    if (find(name.text()) != nullptr) return;
    const ObjectReader own(row.required("trainbench"));
    CaseResult result;
    result.id = read_id(name);
    result.status = read_status(own.required("status"));
    result.simulated = own.required("simulated").boolean();
    aggregated_.push_back(std::move(result));
  }

  std::vector<CaseResult> aggregated_;  // of cases that had no repetition before
};

}  // namespace

std::unique_ptr<ResultRows> own_rows() { return std::make_unique<OwnRows>(); }

void read_own_context(const JsonNode& node, Report& report) {
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

Report read_report(const std::string& text, const std::string& file) {
  return read_result_text(text, file, ResultKind::own);
}

Report read_report_file(const std::string& path) {
  return read_report(read_text_file(path, kResultLimits.bytes), path);
}

}  // namespace trainbench
