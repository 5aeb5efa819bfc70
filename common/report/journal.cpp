#include "common/report/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "common/config/typed_reader.h"
#include "common/core/error.h"
#include "common/report/descriptor.h"

namespace trainbench {
namespace {

constexpr double kMost = std::numeric_limits<double>::max();

Json finite_numbers(const std::map<std::string, double>& numbers) {
  Json object = Json::object();
  for (const auto& [name, value] : numbers) {
    if (std::isfinite(value)) object[name] = value;
  }
  return object;
}

std::map<std::string, double> read_numbers(const JsonNode& node) {
  std::map<std::string, double> numbers;
  for (const auto& [name, value] : node.members()) numbers[name] = value.number(-kMost, kMost);
  return numbers;
}

void read_checked(const JsonNode& node, CaseResult& result) {
  const ObjectReader object(node, {"event", "name", "counters", "served", "details"});
  result.counters = read_numbers(object.required("counters"));
  for (const auto& [operation, provider] : object.required("served").members()) {
    result.served.push_back({operation, provider.text()});
  }
  result.details = object.required("details").value();
}

void read_sample(const JsonNode& node, CaseResult& result) {
  const ObjectReader object(
      node, {"event", "name", "iterations", "real_time", "cpu_time", "process", "counters"});
  Sample sample;
  sample.iterations = object.required("iterations").integer(0, INT64_MAX);
  sample.real_time = object.required("real_time").number(0, kMost);
  sample.cpu_time = object.required("cpu_time").number(0, kMost);
  sample.process = static_cast<int>(object.required("process").integer(0, INT32_MAX));
  sample.counters = read_numbers(object.required("counters"));
  result.samples.push_back(std::move(sample));
}

JournalEntry read_line(const std::string& line, const std::string& origin) {
  const Json document = parse_json(line, origin);
  const JsonNode node(document, origin);
  const ObjectReader object(node);
  const std::string event = object.required("event").choice({"begin", "checked", "sample"});
  JournalEntry entry;
  entry.result.id = CaseId::parse(object.required("name").text());
  if (event == "checked") {
    entry.event = JournalEntry::Event::checked;
    read_checked(node, entry.result);
  } else if (event == "sample") {
    entry.event = JournalEntry::Event::sample;
    read_sample(node, entry.result);
  }
  return entry;
}

}  // namespace

Journal::Journal(std::string path)
    : path_(std::move(path)),
      file_(std::make_unique<Descriptor>(path_, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND)) {}

Journal::~Journal() = default;

void Journal::write(const Json& line) {
  file_->write(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
}

void Journal::begin(const CaseId& id) { write({{"event", "begin"}, {"name", id.full_name()}}); }

void Journal::checked(const CaseResult& result) {
  Json served = Json::object();
  for (const Served& each : result.served) served[each.operation] = each.provider;
  write({{"event", "checked"},
         {"name", result.id.full_name()},
         {"counters", finite_numbers(result.counters)},
         {"served", std::move(served)},
         {"details", result.details}});
}

void Journal::append(const CaseId& id, const Sample& sample) {
  write({{"event", "sample"},
         {"name", id.full_name()},
         {"iterations", sample.iterations},
         {"real_time", sample.real_time},
         {"cpu_time", sample.cpu_time},
         {"process", sample.process},
         {"counters", finite_numbers(sample.counters)}});
}

void Journal::remove() { ::unlink(path_.c_str()); }

std::vector<JournalEntry> read_journal(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw InputError(path + ": cannot be read");
  std::vector<JournalEntry> entries;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    // getline stopped at the end of the file, not of a line: the writer died within it.
    if (file.eof()) break;
    entries.push_back(read_line(line, path + " line " + std::to_string(number)));
  }
  return entries;
}

}  // namespace trainbench
