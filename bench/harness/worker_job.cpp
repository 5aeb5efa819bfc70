#include "bench/harness/worker_job.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <sstream>

#include "bench/harness/interrupt.h"
#include "common/config/typed_reader.h"
#include "common/report/atomic_file.h"
#include "common/report/journal.h"
#include "common/report/json.h"
#include "common/system/child_process.h"

namespace trainbench {
namespace {

/// Says when a worker has come on: its journal has grown. An interrupt is passed on.
class JournalWatch {
 public:
  explicit JournalWatch(std::string path) : path_(std::move(path)) {}

  ChildOrder operator()() {
    if (interrupted()) return ChildOrder::interrupt;
    std::error_code missing;
    const std::uintmax_t size = std::filesystem::file_size(path_, missing);
    if (missing || size == size_) return ChildOrder::go_on;
    size_ = size;
    return ChildOrder::restart_limit;
  }

 private:
  std::string path_;
  std::uintmax_t size_ = 0;
};

std::string death_of(const ChildResult& child, double time_limit) {
  if (child.good()) return "";
  if (!child.timed_out) return "its process " + child.failure(time_limit);
  std::ostringstream text;
  text << "it took longer than the time limit of " << time_limit << " s (--time-limit)";
  return text.str();
}

}  // namespace

void write_job(const WorkerJob& job, const std::string& path) {
  Json cases = Json::object();
  for (const auto& [name, repetitions] : job.repetitions) cases[name] = repetitions;
  const Json document{{"process", job.process},
                      {"progress", job.progress},
                      {"out", job.out},
                      {"repetitions", std::move(cases)}};
  write_file_atomically(path, document.dump() + "\n");
}

WorkerJob read_job(const std::string& path) {
  const Json document = read_json_file(path, kResultLimits);
  const ObjectReader object(JsonNode(document, path),
                            {"process", "progress", "out", "repetitions"});
  WorkerJob job;
  job.process = static_cast<int>(object.required("process").integer(0, INT32_MAX));
  job.progress = object.required("progress").text();
  job.out = object.required("out").text(1);
  for (const auto& [name, repetitions] : object.required("repetitions").members()) {
    job.repetitions.emplace_back(name, static_cast<int>(repetitions.integer(1, INT32_MAX)));
  }
  return job;
}

std::string journal_path(const std::string& out) { return out + ".journal"; }

WorkerResult read_worker_result(const std::string& out) {
  WorkerResult worker;
  if (std::filesystem::exists(out)) {
    worker.results = read_report_file(out).results;
    worker.complete = true;
    return worker;
  }
  if (!std::filesystem::exists(journal_path(out))) return worker;
  std::map<std::string, std::size_t> index;
  for (JournalEntry& entry : read_journal(journal_path(out))) {
    const std::string name = entry.result.id.full_name();
    if (entry.event == JournalEntry::Event::begin) {
      worker.unfinished = name;
      continue;
    }
    const auto [found, fresh] = index.try_emplace(name, worker.results.size());
    if (entry.event == JournalEntry::Event::sample) worker.unfinished.clear();
    if (fresh) {
      worker.results.push_back(std::move(entry.result));
    } else {
      auto& samples = worker.results[found->second].samples;
      samples.insert(samples.end(), entry.result.samples.begin(), entry.result.samples.end());
    }
  }
  return worker;
}

WorkerResult run_worker(const std::vector<std::string>& command, const std::string& out,
                        double time_limit, const std::string& errors) {
  const ChildResult child = run_child(command, time_limit, JournalWatch(journal_path(out)), errors);
  WorkerResult worker = read_worker_result(out);
  worker.death = death_of(child, time_limit);
  return worker;
}

void add_part(CaseResult& into, const CaseResult& part) {
  into.samples.insert(into.samples.end(), part.samples.begin(), part.samples.end());
  for (const auto& [name, value] : part.counters) {
    // They are equal, but for what depends on the process: then the largest is told.
    const auto [found, fresh] = into.counters.emplace(name, value);
    if (!fresh) found->second = std::max(found->second, value);
  }
  if (into.served.empty()) into.served = part.served;
  if (into.details.is_null()) into.details = part.details;
  if (into.status == Status::ok) {
    into.status = part.status;
    into.reason = part.reason;
  }
}

}  // namespace trainbench
