#include "bench/harness/worker_job.h"

#include <filesystem>
#include <map>

#include "common/config/typed_reader.h"
#include "common/report/atomic_file.h"
#include "common/report/journal.h"
#include "common/report/json.h"

namespace trainbench {

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

}  // namespace trainbench
