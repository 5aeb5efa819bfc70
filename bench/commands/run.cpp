#include "bench/commands/run.h"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <memory>

#include "bench/harness/gbench_flags.h"
#include "bench/harness/google_context.h"
#include "bench/harness/interrupt.h"
#include "bench/harness/number_flags.h"
#include "bench/harness/rates.h"
#include "bench/harness/run_context.h"
#include "bench/harness/run_environment.h"
#include "bench/harness/runner.h"
#include "common/config/suite.h"
#include "common/models/workload.h"
#include "common/report/atomic_file.h"
#include "common/report/journal.h"
#include "common/report/json.h"
#include "common/report/table.h"
#include "common/system/machine.h"

namespace trainbench {
namespace {

constexpr int kGood = 0;
constexpr int kFailed = 1;
constexpr int kInterrupted = 130;

struct RunOptions {
  std::string suite = "quick";
  SuiteOverrides overrides;
  int repetitions = 0;  // 0: the suite's
  double min_time = 0;  // 0: the suite's
  std::uint64_t seed = 1;
  std::string data;
  std::string out;
  std::string format = "table";
  std::string cpu_provider = "auto";
  int gpu_index = 0;
  std::vector<std::string> google_benchmark_flags;
  std::vector<std::string> command;
};

std::string default_output() {
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%dT%H%M%S", std::localtime(&now));
  return "results/" + std::string(date) + "-" + host_name() + ".json";
}

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
    environment_.data = options.data;
    environment_.devices =
        Devices({.gpu_index = options.gpu_index, .cpu_provider = options.cpu_provider});
  }

  int run() {
    require_allowed_output();
    require_some_device();
    require_named_data();
    const InterruptGuard guard;
    const std::string path = options_.out.empty() ? default_output() : options_.out;
    const bool to_stdout = path == "-";
    std::unique_ptr<Journal> journal;
    if (!to_stdout) {
      prepare_output(path);
      journal = std::make_unique<Journal>(path + ".journal");
    }

    Report report;
    report.google_context = google_context(executable_path());
    report.context = run_context(suite_,
                                 {.command = options_.command,
                                  .seed = options_.seed,
                                  .data = options_.data,
                                  .cpu_provider = options_.cpu_provider,
                                  .interleaved = interleaved()},
                                 environment_.devices);
    RunnerOptions runner{.prepare =
                             [this](const SuiteCase& wanted) {
                               return family_factory(wanted.id.family)(wanted, environment_);
                             },
                         .repetitions = suite_.repetitions,
                         .min_time = suite_.min_time,
                         .interleave = interleaved(),
                         .google_benchmark_flags = options_.google_benchmark_flags};
    if (journal) {
      runner.on_sample = [&](const CaseResult& result, const Sample& sample) {
        journal->append(result.id, sample);
      };
    }
    report.results = run_cases(suite_.cases, runner);
    report.partial = interrupted();
    complete(report);
    save(report, path, to_stdout);
    if (journal) journal->remove();
    show(report, path, to_stdout);
    return exit_code(report);
  }

 private:
  bool interleaved() const {
    const auto& flags = options_.google_benchmark_flags;
    return std::find(flags.begin(), flags.end(), "--benchmark_enable_random_interleaving=false") ==
           flags.end();
  }

  void require_allowed_output() const {
    if (options_.out == "-" && options_.format != "json" && options_.format != "table") {
      throw InputError("--out - writes JSON to standard output; --format " + options_.format +
                       " needs it too: give --out a file");
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
    if (options_.data.empty()) return;
    for (const SuiteCase& each : suite_.cases) {
      environment_.dataset(each.id.family == "loader"
                               ? each.id.name
                               : std::string(workload_by_name(each.id.name).dataset));
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
      shown << to_table(report);
    } else if (options_.format == "csv") {
      shown << to_csv(report);
    } else if (!to_stdout) {
      shown << to_json(report);
    }
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
  command->add_option("suite", options->suite, "A suite (quick, full, ci) or a JSON file")
      ->capture_default_str();
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
  command->add_option("--seed", options->seed, "Seed of weights, data order and synthetic data")
      ->check(seed_number());
  command->add_option("--data", options->data, "A folder of IDX files, or synthetic");
  command->add_option("--out", options->out, "The JSON file to write; - for standard output");
  command->add_option("--format", options->format, "What to print: table, json or csv")
      ->check(CLI::IsMember({"table", "json", "csv"}))
      ->capture_default_str();
  command->add_option("--cpu-provider", options->cpu_provider, "eigen, blas, onednn or auto")
      ->check(CLI::IsMember({"eigen", "blas", "onednn", "auto"}))
      ->capture_default_str();
  command->add_option("--gpu", options->gpu_index, "Index of the GPU to use")->check(gpu_index());
  command->footer(
      "Flags for Google Benchmark follow --, for example\n"
      "  trainbench run quick -- --benchmark_enable_random_interleaving=false");
  command->callback([options, &action] {
    action = [options] {
      require_allowed_flags(options->google_benchmark_flags);
      return SuiteRun(*options).run();
    };
  });
}

}  // namespace trainbench
