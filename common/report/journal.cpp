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

Json line_of(const CaseId& id, const Sample& sample) {
  Json counters = Json::object();
  for (const auto& [name, value] : sample.counters) {
    if (std::isfinite(value)) counters[name] = value;
  }
  return {{"name", id.full_name()},        {"iterations", sample.iterations},
          {"real_time", sample.real_time}, {"cpu_time", sample.cpu_time},
          {"process", sample.process},     {"counters", std::move(counters)}};
}

JournalEntry read_line(const std::string& line, const std::string& origin) {
  const Json document = parse_json(line, origin);
  const ObjectReader object(JsonNode(document, origin),
                            {"name", "iterations", "real_time", "cpu_time", "process", "counters"});
  JournalEntry entry{CaseId::parse(object.required("name").text()), {}};
  entry.sample.iterations = object.required("iterations").integer(0, INT64_MAX);
  entry.sample.real_time = object.required("real_time").number(0, kMost);
  entry.sample.cpu_time = object.required("cpu_time").number(0, kMost);
  entry.sample.process = static_cast<int>(object.required("process").integer(0, INT32_MAX));
  for (const auto& [name, value] : object.required("counters").members()) {
    entry.sample.counters[name] = value.number(-kMost, kMost);
  }
  return entry;
}

}  // namespace

Journal::Journal(std::string path)
    : path_(std::move(path)),
      file_(std::make_unique<Descriptor>(path_, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND)) {}

Journal::~Journal() = default;

void Journal::append(const CaseId& id, const Sample& sample) {
  file_->write(line_of(id, sample).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
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
