#include "bench/harness/runner.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <new>

#include "bench/harness/case_pool.h"
#include "bench/harness/interrupt.h"
#include "bench/harness/progress.h"

namespace trainbench {
namespace {

/// A case that is prepared anew for each of its repetitions warms up anew too.
constexpr std::size_t kMaxPrepared = 256;

/// A case on its way through the run.
struct Entry {
  const SuiteCase* wanted = nullptr;
  CaseResult result;
  int repetitions = 0;
  std::int64_t iterations = 1;  ///< of one repetition
  double seconds_per_iteration = 0;

  bool on_gpu() const { return result.id.device == "gpu"; }
};

/// Runs `work` and books what it throws to the case alone.
template <class Work>
bool contained(CaseResult& result, Work&& work) {
  try {
    work();
    return true;
  } catch (const Unsupported& error) {
    result.status = Status::skipped;
    result.reason = error.what();
  } catch (const std::bad_alloc&) {
    result.status = Status::failed;
    result.reason = "out of memory: the case needs more than this machine or its limits give";
  } catch (const std::exception& error) {
    result.status = Status::failed;
    result.reason = error.what();
  }
  return false;
}

void add_memory(CaseResult& result, const MemoryUse& memory) {
  for (const MemoryKind kind : kMemoryKinds) {
    result.counters["memory_bytes_" + std::string(name_of(kind))] =
        static_cast<double>(memory[kind]);
  }
  result.counters["allocations"] = static_cast<double>(memory.allocations);
}

/// Takes Google Benchmark's own figures for each repetition; prints nothing.
class SampleCollector : public benchmark::BenchmarkReporter {
 public:
  explicit SampleCollector(std::map<std::string, Entry*> entries) : entries_(std::move(entries)) {}

  bool ReportContext(const Context&) override { return true; }

  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration) continue;
      // The bare name as registered: what Google Benchmark appends to it is no part of ours.
      const auto found = entries_.find(run.run_name.function_name);
      if (found == entries_.end()) continue;
      std::vector<Sample>& samples = found->second->result.samples;
      const auto index = static_cast<std::size_t>(std::max<std::int64_t>(run.repetition_index, 0));
      if (index >= samples.size() || run.iterations == 0) continue;
      const auto iterations = static_cast<double>(run.iterations);
      samples[index].real_time = run.real_accumulated_time / iterations;
      samples[index].cpu_time = run.cpu_accumulated_time / iterations;
      samples[index].iterations = run.iterations;
    }
  }

 private:
  std::map<std::string, Entry*> entries_;
};

/// The whole of one run: prepares, checks, warms up, then lets Google Benchmark take the samples.
class Runner {
 public:
  Runner(const std::vector<SuiteCase>& cases, const RunnerOptions& options)
      : options_(options),
        pool_([this](std::size_t index) { return options_.prepare(*entries_[index].wanted); },
              kMaxPrepared, default_pool_bytes()) {
    entries_.reserve(cases.size());
    for (const SuiteCase& wanted : cases) {
      Entry entry;
      entry.wanted = &wanted;
      entry.result.id = wanted.id;
      const auto own = options.own_repetitions.find(wanted.id.full_name());
      entry.repetitions = own == options.own_repetitions.end() ? options.repetitions : own->second;
      entries_.push_back(std::move(entry));
    }
  }

  std::vector<CaseResult> run() {
    prepare_all();
    sample_all();
    std::vector<CaseResult> results;
    results.reserve(entries_.size());
    for (Entry& entry : entries_) results.push_back(std::move(entry.result));
    return results;
  }

 private:
  void prepare_all() {
    progress_.begin(options_.progress + "preparing", static_cast<int>(entries_.size()),
                    options_.warmup.max_seconds);
    for (std::size_t i = 0; i < entries_.size() && !stopped(); ++i) {
      CaseResult& result = entries_[i].result;
      progress_.show(result.id.full_name());
      if (options_.on_begin) options_.on_begin(result.id);
      if (!contained(result, [&] { prepare(i); })) give_up(i);
      progress_.advance();
    }
  }

  bool stopped() const { return interrupted() || gpu_lost_; }

  /// After a case was not contained.
  void give_up(std::size_t index) {
    const Entry& entry = entries_[index];
    gpu_lost_ |=
        options_.stop_at_gpu_failure && entry.on_gpu() && entry.result.status == Status::failed;
    pool_.drop(index);
  }

  void prepare(std::size_t index) {
    Entry& entry = entries_[index];
    PreparedCase& prepared = pool_.get(index).prepared;
    prepared.check(entry.result);
    add_memory(entry.result, prepared.memory());
    if (options_.on_checked) options_.on_checked(entry.result);
    const WarmupResult warmup = warm_up(options_.warmup, [&](std::int64_t iterations) {
      return prepared.run(iterations).wall_seconds;
    });
    entry.seconds_per_iteration = warmup.seconds_per_iteration;
    entry.iterations = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(std::ceil(options_.min_time / warmup.seconds_per_iteration)));
    entry.result.details["warmup"] = {{"iterations", warmup.iterations},
                                      {"seconds", warmup.seconds},
                                      {"ended_by", warmup.agreed ? "agreement" : "time"}};
  }

  void sample_all() {
    std::map<std::string, Entry*> by_name;
    double seconds = 0;
    int repetitions = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      Entry& entry = entries_[i];
      if (entry.result.status != Status::ok || entry.seconds_per_iteration == 0) continue;
      const std::string name = entry.result.id.full_name();
      by_name[name] = &entry;
      seconds +=
          entry.repetitions * entry.seconds_per_iteration * static_cast<double>(entry.iterations);
      repetitions += entry.repetitions;
      auto* registered = benchmark::RegisterBenchmark(
          name.c_str(), [this, i](benchmark::State& state) { repetition(state, i); });
      registered->Iterations(entry.iterations)->Repetitions(entry.repetitions);
      registered->Unit(benchmark::kSecond)->MeasureProcessCPUTime();
      // CPU time would count the threads of a step one after the other; never the default.
      if (entry.on_gpu()) {
        registered->UseManualTime();
      } else {
        registered->UseRealTime();
      }
    }
    if (by_name.empty()) return;

    progress_.begin(options_.progress + "measuring", repetitions, seconds / repetitions);
    initialize_google_benchmark();
    SampleCollector collector(by_name);
    benchmark::RunSpecifiedBenchmarks(&collector, ".*");
    benchmark::ClearRegisteredBenchmarks();
  }

  void initialize_google_benchmark() {
    std::vector<std::string> arguments{"trainbench"};
    if (options_.interleave) arguments.push_back("--benchmark_enable_random_interleaving=true");
    arguments.insert(arguments.end(), options_.google_benchmark_flags.begin(),
                     options_.google_benchmark_flags.end());
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    int count = static_cast<int>(pointers.size());
    benchmark::Initialize(&count, pointers.data());
  }

  /// One repetition, as Google Benchmark calls it. It aborts the program where an error ends one
  /// repetition of several (1.7.1: its statistics ask for equal iterations), so it is not told of
  /// errors: such a repetition is empty and leaves no sample.
  void repetition(benchmark::State& state, std::size_t index) {
    Entry& entry = entries_[index];
    bool ended = false;
    if (!stopped() && entry.result.status == Status::ok) {
      progress_.show(entry.result.id.full_name());
      if (options_.on_begin) options_.on_begin(entry.result.id);
      if (!contained(entry.result, [&] { measure(state, index, ended); })) give_up(index);
      progress_.advance();
    }
    while (!ended && state.KeepRunningBatch(entry.iterations)) state.SetIterationTime(0);
  }

  /// Caches and clocks belong to the case that ran before: one untimed iteration takes them back, a
  /// whole warm-up where the memory is new. Returns how many iterations that took.
  std::int64_t settle(const CasePool::Lease& lease) {
    const auto run = [&](std::int64_t iterations) {
      return lease.prepared.run(iterations).wall_seconds;
    };
    if (lease.fresh) return warm_up(options_.warmup, run).iterations;
    run(1);
    return 1;
  }

  /// `ended`: Google Benchmark's loop has come to its end.
  void measure(benchmark::State& state, std::size_t index, bool& ended) {
    Entry& entry = entries_[index];
    const CasePool::Lease lease = pool_.get(index);
    const std::int64_t untimed = settle(lease);
    Measurement measurement;
    while (state.KeepRunningBatch(entry.iterations)) {
      measurement = lease.prepared.run(entry.iterations);
      if (measurement.device_seconds) state.SetIterationTime(*measurement.device_seconds);
    }
    ended = true;
    measurement.counters["untimed_iterations"] = static_cast<double>(untimed);
    record(entry, measurement, lease.prepared.after_repetition());
  }

  void record(Entry& entry, const Measurement& measurement,
              const std::map<std::string, double>& counters) {
    const auto iterations = static_cast<double>(entry.iterations);
    Sample sample;
    sample.iterations = entry.iterations;
    sample.process = options_.process;
    sample.real_time = measurement.device_seconds.value_or(measurement.wall_seconds) / iterations;
    sample.counters = measurement.counters;
    sample.counters.insert(counters.begin(), counters.end());
    sample.counters["wall_time"] = measurement.wall_seconds / iterations;
    if (measurement.device_seconds) {
      sample.counters["gpu_time"] = *measurement.device_seconds / iterations;
    }
    entry.result.samples.push_back(sample);
    if (options_.on_sample) options_.on_sample(entry.result, sample);
  }

  const RunnerOptions& options_;
  std::vector<Entry> entries_;
  CasePool pool_;
  Progress progress_;
  bool gpu_lost_ = false;
};

}  // namespace

std::vector<CaseResult> run_cases(const std::vector<SuiteCase>& cases,
                                  const RunnerOptions& options) {
  return Runner(cases, options).run();
}

}  // namespace trainbench
