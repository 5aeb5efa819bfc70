#include "bench/harness/process_run.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <random>
#include <sstream>

#include "bench/harness/interrupt.h"
#include "bench/harness/worker_job.h"
#include "common/system/child_process.h"

namespace trainbench {
namespace {

/// What one process found, added to what others did.
void merge(CaseResult& into, const CaseResult& part) {
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

class ProcessRun {
 public:
  ProcessRun(const std::vector<SuiteCase>& cases, const ProcessRunOptions& options)
      : options_(options) {
    for (const SuiteCase& each : cases) {
      index_[each.id.full_name()] = results_.size();
      results_.emplace_back().id = each.id;
    }
  }

  std::vector<CaseResult> run() {
    for (int share = 0; share < options_.processes; ++share) {
      const bool one_more = share < options_.repetitions % options_.processes;
      run_share(share, options_.repetitions / options_.processes + (one_more ? 1 : 0));
    }
    return std::move(results_);
  }

 private:
  /// Repetitions that a share still owes, by the case's place.
  using Pending = std::map<std::size_t, int>;

  void run_share(int share, int repetitions) {
    Pending pending;
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (results_[i].status == Status::ok) pending[i] = repetitions;
    }
    while (!pending.empty() && !interrupted()) run_worker(share, pending);
  }

  void run_worker(int share, Pending& pending) {
    const std::string name = options_.folder + "/process-" + std::to_string(process_);
    const WorkerJob job = job_for(share, pending, name + ".json");
    ++process_;
    write_job(job, name + ".job");
    const ChildResult child =
        run_child(command(name + ".job"), options_.time_limit, JournalWatch(journal_path(job.out)));
    WorkerResult worker = read_worker_result(job.out);
    const bool came_on = take(worker, pending);
    if (interrupted()) return;
    if (worker.complete) {
      if (!child.good()) {
        std::fprintf(stderr, "trainbench: process %d %s after its work was done\n", job.process,
                     child.failure(options_.time_limit).c_str());
      }
      if (!came_on) fail_all(pending, "its process measured nothing");
    } else if (!worker.unfinished.empty()) {
      fail(index_.at(worker.unfinished), reason(child));
      pending.erase(index_.at(worker.unfinished));
    } else if (!came_on) {
      fail_all(pending, reason(child));
    }
  }

  WorkerJob job_for(int share, const Pending& pending, const std::string& out) {
    WorkerJob job;
    job.process = process_;
    job.progress =
        "process " + std::to_string(share + 1) + "/" + std::to_string(options_.processes) + ": ";
    job.out = out;
    for (const auto& [i, repetitions] : pending) {
      job.repetitions.emplace_back(results_[i].id.full_name(), repetitions);
    }
    std::shuffle(job.repetitions.begin(), job.repetitions.end(), random_);
    return job;
  }

  std::vector<std::string> command(const std::string& job) const {
    std::vector<std::string> arguments = options_.command;
    const auto end = std::find(arguments.begin(), arguments.end(), "--");
    arguments.insert(end, {"--job", job});
    return arguments;
  }

  /// Whether the worker brought anything that its share still owed.
  bool take(const WorkerResult& worker, Pending& pending) {
    bool came_on = false;
    for (const CaseResult& part : worker.results) {
      const std::size_t place = index_.at(part.id.full_name());
      merge(results_[place], part);
      const auto owed = pending.find(place);
      if (owed == pending.end()) continue;
      owed->second -= static_cast<int>(part.samples.size());
      came_on |= !part.samples.empty() || part.status != Status::ok;
      if (owed->second <= 0 || part.status != Status::ok) pending.erase(owed);
    }
    return came_on;
  }

  std::string reason(const ChildResult& child) const {
    if (!child.timed_out) return "its process " + child.failure(options_.time_limit);
    std::ostringstream text;
    text << "it took longer than the time limit of " << options_.time_limit << " s (--time-limit)";
    return text.str();
  }

  void fail(std::size_t place, const std::string& reason) {
    results_[place].status = Status::failed;
    results_[place].reason = reason;
  }

  void fail_all(Pending& pending, const std::string& reason) {
    for (const auto& [place, repetitions] : pending) fail(place, reason);
    pending.clear();
  }

  const ProcessRunOptions& options_;
  std::vector<CaseResult> results_;
  std::map<std::string, std::size_t> index_;  ///< of results_, by name
  int process_ = 0;                           ///< number of the next one
  std::mt19937 random_{std::random_device{}()};
};

}  // namespace

std::vector<CaseResult> run_in_processes(const std::vector<SuiteCase>& cases,
                                         const ProcessRunOptions& options) {
  return ProcessRun(cases, options).run();
}

}  // namespace trainbench
