#include "bench/commands/verify.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/commands/verify_problems.h"
#include "bench/harness/number_flags.h"
#include "bench/harness/run_environment.h"
#include "common/check/check_backend.h"
#include "common/config/name_filter.h"
#include "common/data/loader.h"
#include "common/nn/trainer.h"
#include "common/report/result.h"

namespace trainbench {
namespace {

/// What is verified as one: a group of operations on small problems, or a training step of a
/// workload.
struct Part {
  std::string name;
  std::function<void(Backend& via, Backend& memory, const Precision& precision)> run;
};

/// A part on one device in one precision.
struct PartResult {
  std::string device;
  std::string precision;
  std::string part;
  Status status = Status::ok;
  std::string reason;
  std::vector<OutputCheck> outputs;
};

/// The workload's own optimizer, or the other one, so that the real shapes try both updates.
Workload with_other_optimizer(Workload workload) {
  if (std::holds_alternative<SgdOptions>(workload.optimizer)) {
    workload.optimizer = AdamOptions{.weight_decay = 0.01};
    workload.learning_rate = 1e-3;
  } else {
    workload.optimizer = SgdOptions{};
    workload.learning_rate = 0.01;
  }
  return workload;
}

/// Two steps on real data at the workload's shapes: the second starts from moments that are not
/// zero.
void run_steps(Backend& via, Backend& memory, const Workload& workload, const Precision& precision,
               bool fused, RunEnvironment& environment) {
  const WorkloadVariant& variant = workload.verified;
  const std::int64_t batch_size = variant.batch > 0 ? variant.batch : workload.default_batch;
  const Dataset& dataset = environment.dataset(workload, variant.sizes);
  Trainer trainer(memory, workload,
                  {.precision = precision,
                   .batch = batch_size,
                   .seed = environment.seed,
                   .fused = fused,
                   .sizes = sizes_for(workload, variant.sizes, dataset)});
  BatchSource source(dataset, batch_size, environment.seed);
  for (const Batch& batch : make_resident_batches(memory, source, 2)) trainer.step(via, batch);
}

std::vector<Part> all_parts(RunEnvironment& environment) {
  std::vector<Part> list{{"operations", run_operations},
                         {"convolution operations", run_convolution_operations},
                         {"diffusion operations", run_diffusion_operations},
                         {"transformer operations", run_transformer_operations},
                         {"LSTM operations", run_lstm_operations}};
  for (const Workload& workload : workloads()) {
    const std::string name(workload.name);
    const auto step = [&environment](const Workload& what, bool fused) {
      return
          [&environment, what, fused](Backend& via, Backend& memory, const Precision& precision) {
            run_steps(via, memory, what, precision, fused, environment);
          };
    };
    list.push_back({name, step(workload, true)});
    list.push_back({name + " separate", step(with_other_optimizer(workload), false)});
  }
  return list;
}

/// The parts that the filter finds; throws InputError where that is none.
std::vector<Part> chosen_parts(const std::string& filter, RunEnvironment& environment) {
  const NameFilter finder(filter);
  std::vector<Part> chosen;
  std::string names;
  for (Part& part : all_parts(environment)) {
    names += (names.empty() ? "" : ", ") + part.name;
    if (finder.finds(part.name)) chosen.push_back(std::move(part));
  }
  if (chosen.empty()) {
    throw InputError("--filter \"" + filter + "\": no part has such a name; there are " + names);
  }
  return chosen;
}

PartResult verify_part(const Part& part, const std::string& device, const Precision& precision,
                       RunEnvironment& environment, int threads) {
  PartResult result{.device = device, .precision = std::string(precision.name), .part = part.name};
  try {
    const std::unique_ptr<Backend> backend = environment.devices.open(device, threads);
    backend->require_precision(precision);
    CheckBackend check(*backend, environment.seed);
    part.run(check, *backend, precision);
    result.outputs = check.outputs();
    if (!check.summary().passed) {
      result.status = Status::failed;
      result.reason = check.summary().worst;
    }
  } catch (const Unsupported& error) {
    result.status = Status::skipped;
    result.reason = error.what();
  } catch (const DeviceError& error) {
    result.status = Status::failed;
    result.reason = error.what();
  }
  return result;
}

const char* text_of(Status status) {
  constexpr const char* kTexts[] = {"pass", "FAIL", "skip"};
  return kTexts[static_cast<std::size_t>(status)];
}

void print_header() {
  std::printf("%-22s %-46s %-13s %9s  %9s  %9s\n", "device/precision/part", "operation", "result",
              "checked", "error", "tolerance");
}

/// "cpu/fp32/mlp", or as much of it as the result is about.
std::string place(const PartResult& result) {
  std::string text = result.device;
  for (const std::string& name : {result.precision, result.part}) {
    if (!name.empty()) text.append("/").append(name);
  }
  return text;
}

void print_rows(const PartResult& result) {
  const std::string where = place(result);
  for (const OutputCheck& output : result.outputs) {
    std::printf("%-22s %-46s %-13s %9lld  %9.2e  %9.2e  %s\n", where.c_str(),
                output.operation.c_str(), output.output.c_str(),
                static_cast<long long>(output.compared),
                std::abs(output.worst_value - output.worst_reference), output.worst_bound,
                output.passed() ? "pass" : "FAIL");
  }
  if (!result.reason.empty()) {
    std::printf("%-22s %s: %s\n", where.c_str(), text_of(result.status), result.reason.c_str());
  }
}

nlohmann::ordered_json row_json(const PartResult& result, const OutputCheck& output) {
  nlohmann::ordered_json row{{"device", result.device},     {"precision", result.precision},
                             {"part", result.part},         {"operation", output.operation},
                             {"output", output.output},     {"checked", output.compared},
                             {"failures", output.failures}, {"tolerance", output.worst_bound},
                             {"passed", output.passed()}};
  // An Inf or NaN has no error that JSON could hold.
  const double error = std::abs(output.worst_value - output.worst_reference);
  if (std::isfinite(error)) {
    row["error"] = error;
    row["max_error"] = output.max_error;
    row["max_relative_error"] = output.max_relative_error;
  }
  if (!output.passed()) row["reason"] = output.describe();
  return row;
}

nlohmann::ordered_json to_json(const std::vector<PartResult>& results, bool passed) {
  nlohmann::ordered_json document{{"passed", passed}, {"rows", nlohmann::ordered_json::array()}};
  nlohmann::ordered_json others = nlohmann::ordered_json::array();
  for (const PartResult& result : results) {
    for (const OutputCheck& output : result.outputs) {
      document["rows"].push_back(row_json(result, output));
    }
    if (!result.outputs.empty()) continue;
    others.push_back(nlohmann::ordered_json{
        {"name", place(result)}, {"status", text_of(result.status)}, {"reason", result.reason}});
  }
  document["without_rows"] = std::move(others);
  return document;
}

std::vector<std::string> devices_of(const VerifyOptions& options) {
  std::vector<std::string> devices;
  for (const std::string& device : options.devices) {
    if (device == "all") return {"cpu", "gpu"};
    devices.push_back(device);
  }
  return devices;
}

/// The run of the command: what was asked for, and what came of it so far.
class Verification {
 public:
  Verification(const VerifyOptions& options, RunEnvironment& environment)
      : options_(options),
        environment_(environment),
        parts_(chosen_parts(options.filter, environment)) {
    for (const std::string& name : options.precisions) {
      precisions_.push_back(precision_by_name(name));
    }
    if (precisions_.empty()) precisions_.assign(kPrecisions.begin(), kPrecisions.end());
  }

  int run() {
    std::vector<std::string> present;
    std::vector<PartResult> missing;
    for (const std::string& device : devices_of(options_)) {
      const std::string reason = why_missing(device);
      if (reason.empty()) {
        present.push_back(device);
      } else {
        missing.push_back({.device = device, .status = Status::skipped, .reason = reason});
      }
    }
    if (present.empty()) {
      throw InputError("--device " + missing.front().device + ": " + missing.front().reason);
    }
    if (!options_.json) print_header();
    for (PartResult& result : missing) add(std::move(result));
    for (const std::string& device : present) {
      for (const Precision& precision : precisions_) verify(device, precision);
    }
    const bool passed = count(Status::failed) == 0;
    if (options_.json) {
      std::printf("%s\n", to_json(results_, passed).dump(2).c_str());
    } else {
      print_totals();
    }
    return passed ? 0 : 1;
  }

 private:
  std::string why_missing(const std::string& device) {
    try {
      environment_.devices.info(device);
      return {};
    } catch (const Unsupported& error) {
      return error.what();
    }
  }

  void verify(const std::string& device, const Precision& precision) {
    try {
      environment_.devices.open(device, options_.threads)->require_precision(precision);
    } catch (const Unsupported& error) {
      add({.device = device,
           .precision = std::string(precision.name),
           .status = Status::skipped,
           .reason = error.what()});
      return;
    }
    for (const Part& part : parts_) {
      add(verify_part(part, device, precision, environment_, options_.threads));
    }
  }

  void add(PartResult result) {
    if (!options_.json) {
      print_rows(result);
      std::fflush(stdout);
    }
    results_.push_back(std::move(result));
  }

  std::int64_t count(Status status) const {
    return std::count_if(results_.begin(), results_.end(),
                         [&](const PartResult& result) { return result.status == status; });
  }

  void print_totals() const {
    std::size_t rows = 0;
    for (const PartResult& result : results_) rows += result.outputs.size();
    std::printf("%zu results checked in %zu parts: %lld failed, %lld skipped\n", rows,
                results_.size(), static_cast<long long>(count(Status::failed)),
                static_cast<long long>(count(Status::skipped)));
  }

  const VerifyOptions& options_;
  RunEnvironment& environment_;
  std::vector<Part> parts_;
  std::vector<Precision> precisions_;
  std::vector<PartResult> results_;
};

struct VerifyFlags {
  VerifyOptions options;
  std::uint64_t seed = 1;
  std::vector<std::string> data;
  std::string cpu_provider = "auto";
  std::string gpu_provider = "auto";
  int gpu_index = 0;
};

}  // namespace

int verify(const VerifyOptions& options, RunEnvironment& environment) {
  return Verification(options, environment).run();
}

void register_verify(CLI::App& app, std::function<int()>& action) {
  CLI::App* command = app.add_subcommand(
      "verify", "Check every operation and workload against references in double");
  auto flags = std::make_shared<VerifyFlags>();
  VerifyOptions* options = &flags->options;
  command->add_option("--device", options->devices, "cpu, gpu or both; all")
      ->delimiter(',')
      ->check(CLI::IsMember({"cpu", "gpu", "all"}))
      ->capture_default_str();
  command->add_option("--precision", options->precisions, "fp64, fp32, tf32, fp16, bf16; all")
      ->delimiter(',');
  command->add_option("--filter", options->filter,
                      "Keep the parts whose name this regular expression finds: mlp");
  command->add_option("--threads", options->threads, "CPU threads; the physical cores there are")
      ->check(whole_number(1, 4096));
  command->add_option("--seed", flags->seed, "Seed of weights, data and samples")
      ->check(seed_number());
  command
      ->add_option("--data", flags->data,
                   "A folder or file of data, or synthetic; KIND=SOURCE for one kind alone; may be "
                   "repeated")
      ->allow_extra_args(false);
  command->add_option("--cpu-provider", flags->cpu_provider, "eigen, blas, onednn or auto")
      ->check(CLI::IsMember({"eigen", "blas", "onednn", "auto"}))
      ->capture_default_str();
  command->add_option("--gpu-provider", flags->gpu_provider, "vendor, own or auto")
      ->check(CLI::IsMember({"vendor", "own", "auto"}))
      ->capture_default_str();
  command->add_option("--gpu", flags->gpu_index, "Index of the GPU to use")->check(gpu_index());
  command->add_flag("--json", options->json, "Print JSON");
  command->callback([flags, &action] {
    action = [flags] {
      RunEnvironment environment{.devices = Devices({.gpu_index = flags->gpu_index,
                                                     .cpu_provider = flags->cpu_provider,
                                                     .gpu_provider = flags->gpu_provider}),
                                 .seed = flags->seed,
                                 .data = DataSources(flags->data),
                                 .datasets = {}};
      return verify(flags->options, environment);
    };
  });
}

}  // namespace trainbench
