#include "bench/commands/run.h"

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <memory>

#include "bench/harness/gbench_flags.h"
#include "bench/harness/google_context.h"
#include "bench/harness/interrupt.h"
#include "bench/harness/number_flags.h"
#include "bench/harness/process_run.h"
#include "bench/harness/rates.h"
#include "bench/harness/run_context.h"
#include "bench/harness/run_environment.h"
#include "bench/harness/runner.h"
#include "bench/harness/test_fault.h"
#include "bench/harness/tuning.h"
#include "bench/harness/worker_job.h"
#include "common/config/spelling.h"
#include "common/config/suite.h"
#include "common/models/workload.h"
#include "common/report/atomic_file.h"
#include "common/report/journal.h"
#include "common/report/json.h"
#include "common/report/profile_table.h"
#include "common/report/table.h"
#include "common/system/unique_folder.h"

namespace trainbench {
namespace {

constexpr int kGood = 0;
constexpr int kFailed = 1;
constexpr int kInterrupted = 130;

/// Seconds that reading the data and checking the largest cases by double loops may take.
constexpr double kTimeLimit = 300;

struct RunOptions {
  std::string suite = "quick";
  SuiteOverrides overrides;
  int repetitions = 0;    // 0: the suite's
  double min_time = 0;    // 0: the suite's
  int processes = 0;      // 0: all in this one
  double time_limit = 0;  // 0: kTimeLimit and ten repetitions more
  bool no_peaks = false;
  std::string job;  // a worker's: what it has to do
  bool profile = false;
  bool retune = false;
  std::uint64_t seed = 1;
  std::vector<std::string> data;
  std::string out;
  std::string format = "table";
  std::string cpu_provider = "auto";
  std::string gpu_provider = "auto";
  int gpu_index = 0;
  std::vector<std::string> google_benchmark_flags;
  std::vector<std::string> command;
};

std::string executable_path() {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/exe", ignored).string();
}

/// One run of a suite, from the options to the exit code.
class SuiteRun {
 public:
  explicit SuiteRun(const RunOptions& options)
      : options_(options), suite_(load_suite(options.suite, options.overrides)) {
    if (options.repetitions > 0) suite_.repetitions = options.repetitions;
    if (options.min_time > 0) suite_.min_time = options.min_time;
    environment_.seed = options.seed;
    environment_.data = DataSources(options.data);
    environment_.profile = options.profile;
    keep_choices(user_choices(options.retune));
    Devices::Options devices{.gpu_index = options.gpu_index,
                             .cpu_provider = options.cpu_provider,
                             .gpu_provider = options.gpu_provider};
    if (options.no_peaks) devices.peak_seconds = 0;
    environment_.devices = Devices(std::move(devices));
  }

  int run() {
    require_allowed_output();
    require_some_device();
    require_named_data();
    require_a_repetition_each();
    const InterruptGuard guard;
    const std::string path = options_.out.empty() ? default_output_stem() + ".json" : options_.out;
    const bool to_stdout = path == "-";
    if (!to_stdout) require_writable(path);

    Report report;
    report.google_context = google_context(executable_path());
    report.context = run_context(suite_, settings(), environment_.devices);
    std::unique_ptr<Journal> journal;
    std::string folder;
    if (options_.processes > 0) {
      folder = make_unique_folder(to_stdout ? temporary_prefix() : path + ".parts-");
      report.results = run_in_processes(suite_.cases, process_options(folder));
    } else {
      if (!to_stdout) journal = std::make_unique<Journal>(journal_path(path));
      report.results = run_cases(suite_.cases, runner_options(journal.get()));
    }
    report.partial = interrupted();
    save_choices();
    complete(report);
    save(report, path, to_stdout);
    if (journal) journal->remove();
    if (!folder.empty()) std::filesystem::remove_all(folder);
    show(report, path, to_stdout);
    return exit_code(report);
  }

  /// As a worker of such a run: does its job and leaves all else to the run.
  int work() {
    const WorkerJob job = read_job(options_.job);
    const InterruptGuard guard;
    Journal journal(journal_path(job.out));
    RunnerOptions runner = runner_options(&journal);
    runner.own_repetitions = {job.repetitions.begin(), job.repetitions.end()};
    runner.process = job.process;
    runner.progress = job.progress;
    runner.stop_at_gpu_failure = true;
    Report report;
    report.results = run_cases(cases_of(job), runner);
    report.partial = interrupted();
    save_choices();
    // What it did not come to is for others to measure.
    std::erase_if(report.results, [](const CaseResult& result) {
      return result.status == Status::ok && result.samples.empty();
    });
    write_file_atomically(job.out, to_json(report));
    journal.remove();
    return report.partial ? kInterrupted : kGood;
  }

 private:
  bool interleaved() const {
    const auto& flags = options_.google_benchmark_flags;
    return std::find(flags.begin(), flags.end(), "--benchmark_enable_random_interleaving=false") ==
           flags.end();
  }

  RunSettings settings() const {
    return {.command = options_.command,
            .seed = options_.seed,
            .data = environment_.data.text(),
            .cpu_provider = options_.cpu_provider,
            .gpu_provider = options_.gpu_provider,
            .interleaved = interleaved(),
            .processes = options_.processes,
            .peaks = !options_.no_peaks,
            .test_fault = test_fault()};
  }

  RunnerOptions runner_options(Journal* journal) {
    RunnerOptions runner{.prepare =
                             [this](const SuiteCase& wanted) {
                               return with_test_fault(
                                   family_factory(wanted.id.family)(wanted, environment_),
                                   wanted.id);
                             },
                         .repetitions = suite_.repetitions,
                         .min_time = suite_.min_time,
                         .interleave = interleaved(),
                         .google_benchmark_flags = options_.google_benchmark_flags};
    if (journal != nullptr) {
      runner.on_begin = [journal](const CaseId& id) { journal->begin(id); };
      runner.on_checked = [journal](const CaseResult& result) { journal->checked(result); };
      runner.on_sample = [journal](const CaseResult& result, const Sample& sample) {
        journal->append(result.id, sample);
      };
    }
    return runner;
  }

  ProcessRunOptions process_options(const std::string& folder) const {
    ProcessRunOptions processes{.processes = options_.processes,
                                .repetitions = suite_.repetitions,
                                .time_limit = options_.time_limit > 0
                                                  ? options_.time_limit
                                                  : kTimeLimit + 10 * suite_.min_time,
                                .command = options_.command,
                                .folder = folder};
    processes.command.front() = executable_path();
    return processes;
  }

  static std::string temporary_prefix() {
    return (std::filesystem::temp_directory_path() / "trainbench-").string();
  }

  /// The suite's cases in a job's order.
  std::vector<SuiteCase> cases_of(const WorkerJob& job) const {
    std::map<std::string, const SuiteCase*> by_name;
    for (const SuiteCase& each : suite_.cases) by_name[each.id.full_name()] = &each;
    std::vector<SuiteCase> cases;
    for (const auto& [name, repetitions] : job.repetitions) {
      const auto found = by_name.find(name);
      if (found == by_name.end()) throw InputError(options_.job + ": no case " + in_quotes(name));
      cases.push_back(*found->second);
    }
    return cases;
  }

  void require_a_repetition_each() const {
    if (options_.processes <= suite_.repetitions) return;
    throw InputError("--processes " + std::to_string(options_.processes) + ": more than the " +
                     std::to_string(suite_.repetitions) +
                     " repetitions to share; raise --repetitions");
  }

  void require_allowed_output() const {
    if (options_.out == "-" && options_.format != "json" && options_.format != "table") {
      throw InputError("--out - writes JSON to standard output; --format " + options_.format +
                       " needs it too: give --out a file");
    }
  }

  /// Who did not say where results go learns how to.
  void require_writable(const std::string& path) const {
    try {
      prepare_output(path);
    } catch (const InputError& error) {
      if (!options_.out.empty()) throw;
      throw InputError(std::string(error.what()) + "; --out FILE writes the results elsewhere");
    }
  }

  /// A run in which no device is there measures nothing: that is a wrong request, not a result.
  void require_some_device() {
    std::string reason;
    for (const std::string& device : devices_of(suite_)) {
      try {
        environment_.devices.info(device);
        return;
      } catch (const Unsupported& error) {
        reason = error.what();
      }
    }
    throw InputError("--device gpu: " + reason);
  }

  /// Data that was named and cannot be read is a wrong request, not a failure of every case.
  void require_named_data() {
    const auto named = [this](std::string_view kind) {
      return !environment_.data.of(kind).empty();
    };
    for (const SuiteCase& each : suite_.cases) {
      if (each.id.family == "loader") {
        if (named(each.id.name)) environment_.dataset(each.id.name);
        continue;
      }
      if (each.id.family != "train" && each.id.family != "infer") continue;
      const Workload& workload = workload_by_name(each.id.name);
      if (!named(workload.dataset)) continue;
      sizes_for(workload, each.sizes, environment_.dataset(workload, each.sizes));
    }
  }

  void complete(Report& report) {
    for (CaseResult& result : report.results) {
      if (!result.samples.empty()) {
        result.simulated = environment_.devices.info(result.id.device).simulated;
        environment_.devices.settle_peaks(result, threads_of(result.id));
      } else if (report.partial && result.status == Status::ok) {
        result.status = Status::skipped;
        result.reason = "interrupted before its first repetition";
      }
    }
    for (CaseResult& result : report.results) {
      if (!result.samples.empty()) add_rates(result, peaks_for(result.id));
    }
    const ChoiceCounts choices = choice_counts();
    report.context["cpu_choices"] = {{"kept", choices.kept}, {"measured", choices.measured}};
    finish_device_context(report.context["devices"], environment_.devices);
  }

  const Peaks& peaks_for(const CaseId& id) {
    return environment_.devices.peaks(id.device, threads_of(id));
  }

  static void save(const Report& report, const std::string& path, bool to_stdout) {
    const std::string json = to_json(report);
    if (to_stdout) {
      std::cout << json;
    } else {
      write_file_atomically(path, json);
    }
  }

  void show(const Report& report, const std::string& path, bool to_stdout) const {
    std::ostream& shown = to_stdout ? std::cerr : std::cout;
    if (options_.format == "table") {
      shown << to_table(report) << profile_tables(report);
    } else if (options_.format == "csv") {
      shown << to_csv(report);
    } else if (!to_stdout) {
      shown << to_json(report);
    }
    shown << std::flush;  // before what the other stream says
    if (!to_stdout) std::fprintf(stderr, "results: %s\n", path.c_str());
  }

  int exit_code(const Report& report) const {
    if (report.partial) return kInterrupted;
    if (environment_.devices.peaks_failed()) return kFailed;
    for (const CaseResult& result : report.results) {
      if (result.status == Status::failed) return kFailed;
    }
    return kGood;
  }

  const RunOptions& options_;
  Suite suite_;
  RunEnvironment environment_;
};

}  // namespace

void register_run(CLI::App& app, const std::vector<std::string>& command_line,
                  const std::vector<std::string>& google_benchmark_flags,
                  std::function<int()>& action) {
  CLI::App* command = app.add_subcommand("run", "Run a suite and report what was measured");
  auto options = std::make_shared<RunOptions>();
  options->google_benchmark_flags = google_benchmark_flags;
  options->command = command_line;
  SuiteOverrides& overrides = options->overrides;
  command->add_option("suite", options->suite, suite_help())->capture_default_str();
  command->add_option("--filter", overrides.filter, "Keep the cases this regular expression finds");
  command->add_option("--device", overrides.devices, "cpu, gpu or both; all")->delimiter(',');
  command->add_option("--precision", overrides.precisions, "fp32, tf32, fp16, bf16, fp64")
      ->delimiter(',');
  command->add_option("--batch", overrides.batches, "Batch sizes instead of the suite's")
      ->delimiter(',');
  command->add_option("--threads", overrides.threads, "CPU thread counts instead of the suite's")
      ->delimiter(',');
  command->add_option("--repetitions", options->repetitions, "Samples of each case")
      ->check(whole_number(1, 1000));
  command->add_option("--min-time", options->min_time, "Least seconds of one sample")
      ->check(real_number(1e-9, 600));
  CLI::Option* processes =
      command
          ->add_option("--processes", options->processes,
                       "Child processes that share the repetitions; a crash costs one case")
          ->check(whole_number(1, 1000));
  command
      ->add_option("--time-limit", options->time_limit,
                   "Most seconds that preparing a case or a repetition of it may take")
      ->check(real_number(1e-3, 1e6))
      ->needs(processes);
  command->add_flag("--no-peaks", options->no_peaks,
                    "Leave out the devices' peaks, which take a moment, and the shares of them");
  command->add_option("--job", options->job)->group("");  // what a run gives its workers
  command->add_flag("--profile", options->profile,
                    "Also say what each operation of a training step took");
  command->add_option("--seed", options->seed, "Seed of weights, data order and synthetic data")
      ->check(seed_number());
  command
      ->add_option("--data", options->data,
                   "A folder or file of data, or synthetic; KIND=SOURCE for one kind alone (" +
                       joined(data_kinds()) + "); may be repeated")
      ->allow_extra_args(false);
  command->add_option("--out", options->out, "The JSON file to write; - for standard output");
  command->add_option("--format", options->format, "What to print: table, json or csv")
      ->check(CLI::IsMember({"table", "json", "csv"}))
      ->capture_default_str();
  command->add_option("--cpu-provider", options->cpu_provider, "eigen, blas, onednn or auto")
      ->check(CLI::IsMember({"eigen", "blas", "onednn", "auto"}))
      ->capture_default_str();
  command->add_option("--gpu-provider", options->gpu_provider, "vendor, own or auto")
      ->check(CLI::IsMember({"vendor", "own", "auto"}))
      ->capture_default_str();
  command->add_flag(
      "--retune", options->retune,
      "Measure anew which CPU provider is the fastest, instead of using what is kept");
  command->add_option("--gpu", options->gpu_index, "Index of the GPU to use")->check(gpu_index());
  command->footer(
      "Flags for Google Benchmark follow --, for example\n"
      "  trainbench run quick -- --benchmark_enable_random_interleaving=false");
  command->callback([options, &action] {
    action = [options] {
      require_allowed_flags(options->google_benchmark_flags);
      SuiteRun run(*options);
      return options->job.empty() ? run.run() : run.work();
    };
  });
}

}  // namespace trainbench
