#include "bench/harness/process_run.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <random>

#include "bench/harness/interrupt.h"
#include "bench/harness/worker_job.h"

namespace trainbench {
namespace {

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
    while (!pending.empty() && !interrupted()) start_worker(share, pending);
  }

  void start_worker(int share, Pending& pending) {
    const std::string name = options_.folder + "/process-" + std::to_string(process_);
    const WorkerJob job = job_for(share, pending, name + ".json");
    ++process_;
    write_job(job, name + ".job");
    const WorkerResult worker = run_worker(command(name + ".job"), job.out, options_.time_limit);
    const bool came_on = take(worker, pending);
    if (interrupted()) return;
    if (worker.complete) {
      if (!worker.death.empty()) {
        std::fprintf(stderr, "trainbench: process %d had done its work when %s\n", job.process,
                     worker.death.c_str());
      }
      if (!came_on) fail_all(pending, "its process measured nothing");
    } else if (!worker.unfinished.empty()) {
      const std::size_t place = index_.at(worker.unfinished);
      fail(place, worker.death);
      pending.erase(place);
    } else if (!came_on) {
      fail_all(pending, worker.death);
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
      add_part(results_[place], part);
      const auto owed = pending.find(place);
      if (owed == pending.end()) continue;
      owed->second -= static_cast<int>(part.samples.size());
      came_on |= !part.samples.empty() || part.status != Status::ok;
      if (owed->second <= 0 || part.status != Status::ok) pending.erase(owed);
    }
    return came_on;
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
